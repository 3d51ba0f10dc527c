//! Who may import what, read from the sources: arrows point one way.
//!
//! Every rule names the files it binds and the paths they never name, and says why. Test code is
//! bound by none of them: it may look at everything.

mod reader;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The folders of the API's nouns: each keeps its rows, its rules and its handlers to itself.
const NOUNS: &[&str] = &[
    "api_keys",
    "contact_properties",
    "contacts",
    "domains",
    "emails",
    "erasure",
    "events",
    "ingest",
    "logs",
    "preferences",
    "segments",
    "suppressions",
    "teams",
    "topics",
    "usage",
    "users",
    "webhooks",
];

/// Lines after which a file holds two subjects.
const LINES_MAX: usize = 400;

/// Files that are longer, each with what keeps it whole.
const LONG_FILES: &[(&str, &str)] = &[
    ("src/store/tests/fixture.rs", "a list: every row that schema 1 wrote, with what writes and reads them"),
    ("src/preferences/strings.rs", "a list: every sentence of the page in every language"),
];

/// Names that a rule forbids and that stand all the same, each with why.
const EXCUSED: &[(&str, &str, &str)] = &[(
    "emails/attachments/mod.rs",
    "crate::http::IgnoredJson",
    "a field that is refused whatever it holds is read as the wire's reader reads anything",
)];

struct Rule {
    /// The sentence that a failure prints.
    why: &'static str,
    binds: fn(&Source) -> bool,
    forbids: fn(&Source, &str) -> bool,
}

const RULES: &[Rule] = &[
    Rule {
        why: "the engine behind the store is the store's own affair: nothing outside src/store/ names redb, so that \
              another engine can take its place",
        binds: |file| !file.is_in("store"),
        forbids: |_, path| starts_with(path, "redb"),
    },
    Rule {
        why: "HTTP ends at the handlers: salvo is named in src/http/, in a noun's api and in src/dashboard/ alone, \
              where app/ starts the server, so that use cases run without a request. Types whose schema is written \
              by hand (headers, attachments, tags) may implement salvo's ToSchema",
        binds: |file| !(file.is_in("http") || file.is_in("dashboard") || file.is_api() || file.is_in("app")),
        forbids: |file, path| {
            let has_schema =
                ["emails/headers", "emails/attachments", "emails/tags"].iter().any(|at| file.path.starts_with(at));
            starts_with(path, "salvo") && !(has_schema && starts_with(path, "salvo::oapi"))
        },
    },
    Rule {
        why: "models and mime/ are pure: bytes and values in, bytes and values out. The time and what is drawn come \
              as arguments, and nobody waits",
        binds: |file| file.is_in("mime") || file.name() == "model.rs",
        forbids: |_, path| {
            ["redb", "salvo", "tokio", "crate::base::random", "crate::http", "crate::store", "crate::context"]
                .iter()
                .any(|root| starts_with(path, root))
                || ["crate::base::clock::Clock", "crate::base::clock::monotonic"]
                    .iter()
                    .any(|read| starts_with(path, read))
        },
    },
    Rule {
        why: "dns/ and mime/ know nothing of this product: no noun of the API is named there",
        binds: |file| file.is_in("dns") || file.is_in("mime"),
        forbids: |_, path| {
            NOUNS.iter().chain(&["delivery", "http", "admin"]).any(|noun| starts_with(path, &format!("crate::{noun}")))
        },
    },
    Rule {
        why: "http_client/ is one door for every URL of a customer: it carries what it is given, and of this program it \
              uses dns, address and clock alone",
        binds: |file| file.is_in("http_client"),
        forbids: |_, path| {
            let is_own = ["http_client", "dns", "base"];
            starts_with(path, "crate") && !is_own.iter().any(|root| starts_with(path, &format!("crate::{root}")))
        },
    },
    Rule {
        why: "no other HTTP client dials what a customer wrote: hyper is named in src/http_client/ alone, and ureq where \
              the command line looks at its own server",
        binds: |file| !file.is_in("http_client"),
        forbids: |file, path| {
            ["hyper", "http_body_util"].iter().any(|root| starts_with(path, root))
                || (starts_with(path, "ureq") && !file.is_in("cli"))
        },
    },
    Rule {
        why: "a row is read and written by its own noun: no other noun names its store module; what others need is \
              a function of the noun's mod.rs",
        binds: |_| true,
        forbids: |file, path| {
            NOUNS.iter().any(|noun| !file.is_in(noun) && starts_with(path, &format!("crate::{noun}::store")))
        },
    },
    Rule {
        why: "src/store/ does not know what a row means: src/tables.rs names the nouns' rows",
        binds: |file| file.is_in("store"),
        forbids: |_, path| {
            NOUNS.iter().chain(&["delivery", "http", "admin"]).any(|noun| starts_with(path, &format!("crate::{noun}")))
        },
    },
    Rule {
        why: "a use case and a row know nothing of the wire: crate::http is named by the handlers, by what wires \
              them, and by the other doors to the same requests (admin/, cli/)",
        binds: |file| {
            let is_door = ["http", "dashboard", "admin", "cli"].iter().any(|folder| file.is_in(folder));
            !(is_door || file.is_api() || file.is_in("app"))
        },
        forbids: |_, path| starts_with(path, "crate::http"),
    },
    Rule {
        why: "app/ wires and is not used: only main.rs, the command line and tests start an instance",
        binds: |file| !(file.is_in("app") || file.path == "main.rs" || file.is_in("cli")),
        forbids: |_, path| starts_with(path, "crate::app"),
    },
    Rule {
        why: "handlers of every noun use api_keys, so that api_keys names no other noun",
        binds: |file| file.is_in("api_keys"),
        forbids: |_, path| NOUNS.iter().any(|noun| *noun != "api_keys" && starts_with(path, &format!("crate::{noun}"))),
    },
    Rule {
        why: "webhooks are above emails: emails publish events, and app/ calls the retention of both",
        binds: |file| file.is_in("emails"),
        forbids: |_, path| starts_with(path, "crate::webhooks"),
    },
    Rule {
        why: "a handler stays inside its noun: it reads its own store module and no table of any other",
        binds: Source::is_api,
        forbids: |_, path| starts_with(path, "crate::tables"),
    },
];

/// A source file of the library.
struct Source {
    /// Below `src/`, with forward slashes.
    path: String,
    /// Every path that its code names, with the line.
    names: Vec<(usize, String)>,
}

impl Source {
    fn is_in(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }

    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Whether this is a noun's api, in one file or a folder.
    fn is_api(&self) -> bool {
        let mut parts = self.path.split('/');
        let noun = parts.next().unwrap_or_default();
        NOUNS.contains(&noun) && matches!(parts.next(), Some("api" | "api.rs"))
    }
}

/// Whether `path` is `root` or something in it.
fn starts_with(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns every Rust file below `folder`, as paths below it, in order.
fn rust_files(folder: &Path) -> Vec<String> {
    let mut files = BTreeSet::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.insert(path.strip_prefix(folder).unwrap().to_str().unwrap().replace('\\', "/"));
            }
        }
    }
    files.into_iter().collect()
}

/// Whether a file holds nothing but test code.
fn is_test(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "tests" | "tests.rs" | "testing.rs" | "testing"))
}

fn sources() -> Vec<Source> {
    let src = root().join("src");
    rust_files(&src)
        .into_iter()
        .filter(|path| !is_test(path))
        .map(|path| {
            let names = reader::names(&path, &reader::code(&fs::read_to_string(src.join(&path)).unwrap()));
            Source { path, names }
        })
        .collect()
}

fn is_excused(file: &Source, path: &str) -> bool {
    EXCUSED.iter().any(|(excused, name, _)| file.path == *excused && starts_with(path, name))
}

#[test]
fn imports_point_one_way() {
    let sources = sources();
    let mut report = String::new();
    for rule in RULES {
        let mut broken = BTreeSet::new();
        for file in sources.iter().filter(|file| (rule.binds)(file)) {
            for (line, path) in &file.names {
                if (rule.forbids)(file, path) && !is_excused(file, path) {
                    broken.insert(format!("src/{}:{line} names {path}", file.path));
                }
            }
        }
        if !broken.is_empty() {
            let _ = writeln!(report, "\n{}:", rule.why);
            for broken in broken {
                let _ = writeln!(report, "  {broken}");
            }
        }
    }
    for (path, name, reason) in EXCUSED {
        let stands = sources
            .iter()
            .any(|file| file.path == *path && file.names.iter().any(|(_, named)| starts_with(named, name)));
        if !stands || reason.is_empty() {
            let _ = writeln!(report, "\nsrc/{path} is excused for {name} without a reason, or does not name it");
        }
    }
    assert!(report.is_empty(), "imports that point backwards\n{report}");
}

#[test]
fn no_file_holds_two_subjects() {
    let mut report = String::new();
    for folder in ["src", "tests/it"] {
        for path in rust_files(&root().join(folder)) {
            let path = format!("{folder}/{path}");
            let lines = fs::read_to_string(root().join(&path)).unwrap().lines().count();
            let is_excused = LONG_FILES.iter().any(|(long, _)| *long == path);
            if lines > LINES_MAX && !is_excused {
                let _ = writeln!(report, "  {path} has {lines} lines: split it by subject, or excuse it with a reason");
            }
            if lines <= LINES_MAX && is_excused {
                let _ = writeln!(report, "  {path} has only {lines} lines: it needs no excuse any more");
            }
        }
    }
    for (path, reason) in LONG_FILES {
        if !root().join(path).is_file() || reason.is_empty() {
            let _ = writeln!(report, "  {path} is excused without a reason, or is not there");
        }
    }
    assert!(report.is_empty(), "files of more than {LINES_MAX} lines\n{report}");
}

#[test]
fn each_rule_tells_right_from_wrong() {
    let cases = [
        ("emails/read.rs", "redb::Database", false),
        ("store/writer.rs", "redb::Database", true),
        ("emails/send.rs", "salvo::Request", false),
        ("emails/api/send.rs", "salvo::Request", true),
        ("api_keys/api.rs", "salvo::Request", true),
        ("delivery/lane.rs", "salvo::Request", false),
        ("domains/store.rs", "salvo::Request", false),
        ("emails/tags.rs", "salvo::oapi::ToSchema", true),
        ("emails/tags.rs", "salvo::Request", false),
        ("mime/build.rs", "tokio::time::sleep", false),
        ("mime/build.rs", "crate::base::random::token", false),
        ("mime/build.rs", "crate::emails::Content", false),
        ("dns/mx.rs", "crate::domains::Domain", false),
        ("http_client/dial.rs", "crate::dns::Guard", true),
        ("http_client/dial.rs", "crate::http_client::Failure", true),
        ("http_client/session.rs", "crate::events::Event", false),
        ("http_client/session.rs", "crate::config::Config", false),
        ("http_client/session.rs", "hyper::Request", true),
        ("delivery/queue.rs", "hyper::Request", false),
        ("events/mod.rs", "ureq::Agent", false),
        ("cli/ready.rs", "ureq::Agent", true),
        ("teams/model.rs", "crate::base::clock::monotonic", false),
        ("teams/model.rs", "crate::base::clock::TimestampMs", true),
        ("delivery/queue.rs", "crate::emails::store::EmailRow", false),
        ("delivery/queue.rs", "crate::emails::EmailRow", true),
        ("emails/read.rs", "crate::emails::store::EmailRow", true),
        ("topics/api.rs", "crate::tables::CONTACTS", false),
        ("store/writer.rs", "crate::emails::EmailRow", false),
        ("tables.rs", "crate::emails::EmailRow", true),
        ("emails/send.rs", "crate::http::ApiError", false),
        ("api_keys/keys.rs", "crate::domains::exists", false),
        ("api_keys/keys.rs", "crate::api_keys::Token", true),
        ("emails/retention.rs", "crate::webhooks::purge", false),
        ("workers/supervisor.rs", "crate::app::App", false),
        ("cli/serve.rs", "crate::app::App", true),
    ];
    for (file, path, is_allowed) in cases {
        let file = Source { path: file.to_owned(), names: Vec::new() };
        let is_forbidden = RULES.iter().any(|rule| (rule.binds)(&file) && (rule.forbids)(&file, path));
        assert_eq!(!is_forbidden, is_allowed, "{} and {path}", file.path);
    }
}
