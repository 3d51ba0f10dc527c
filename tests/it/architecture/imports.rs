//! Import rules: each names the files that it applies to, the paths that they must not name, and the reason.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{NOUNS, Source, sources, starts_with};

/// Exceptions: a file, a path that a rule forbids there, and the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[(
    "emails/attachments/opt_in_text.rs",
    "crate::http::IgnoredJson",
    "a field that the instance does not accept is parsed with the strict JSON rules of the request, then rejected",
)];

/// Files that skip a corrupt value of several rows, or the corrupt part of a row that they read.
const SKIP_CORRUPT_VALUES: &[&str] = &[
    "broadcasts/fan_out/walk.rs",
    "delivery/queue/corrupt_leases.rs",
    "emails/search/index.rs",
    "emails/store/content.rs",
    "emails/stored.rs",
    "engagement/links.rs",
    "erasure/pages.rs",
    "events/outbox.rs",
    "insights/compute.rs",
    "logs/store.rs",
    "segments/page_scan.rs",
    "segments/scan.rs",
    "webhooks/dispatch/page.rs",
];

struct Rule {
    /// The sentence that a failure prints.
    why: &'static str,
    binds: fn(&Source) -> bool,
    forbids: fn(&Source, &str) -> bool,
}

const RULES: &[Rule] = &[
    Rule {
        why: "Only src/store/ names redb, so that another engine can replace it",
        binds: |file| !file.is_in("store"),
        forbids: |_, path| starts_with(path, "redb"),
    },
    Rule {
        why: "Only src/http/, the api of a noun, src/dashboard/ and src/app/ name salvo, so that use cases run without a \
              request. Types with a hand-written schema (headers, attachments, tags) may implement salvo's ToSchema",
        binds: |file| !(file.is_in("http") || file.is_in("dashboard") || file.is_api() || file.is_in("app")),
        forbids: |file, path| {
            let has_schema =
                ["emails/headers", "emails/attachments", "emails/tags"].iter().any(|at| file.path.starts_with(at));
            starts_with(path, "salvo") && !(has_schema && starts_with(path, "salvo::oapi"))
        },
    },
    Rule {
        why: "Models and mime/ are pure: bytes and values in, bytes and values out. The time and random values are \
              arguments, and nothing blocks",
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
        why: "dns/ and mime/ know nothing of this product: they name no noun of the API",
        binds: |file| file.is_in("dns") || file.is_in("mime"),
        forbids: |_, path| {
            NOUNS.iter().chain(&["delivery", "http", "admin"]).any(|noun| starts_with(path, &format!("crate::{noun}")))
        },
    },
    Rule {
        why: "http_client/ makes every request to a customer URL. Of this program it uses dns/ and base/ only",
        binds: |file| file.is_in("http_client"),
        forbids: |_, path| {
            let is_own = ["http_client", "dns", "base"];
            starts_with(path, "crate") && !is_own.iter().any(|root| starts_with(path, &format!("crate::{root}")))
        },
    },
    Rule {
        why: "No other HTTP client connects to a customer URL: only src/http_client/ names hyper, and only the command \
              line, which requests its own server, names ureq",
        binds: |file| !file.is_in("http_client"),
        forbids: |file, path| {
            ["hyper", "http_body_util"].iter().any(|root| starts_with(path, root))
                || (starts_with(path, "ureq") && !file.is_in("cli"))
        },
    },
    Rule {
        why: "A noun reads and writes its own rows: no other noun names its store module. Other nouns use the functions \
              that its mod.rs exports",
        binds: |_| true,
        forbids: |file, path| {
            NOUNS.iter().any(|noun| !file.is_in(noun) && starts_with(path, &format!("crate::{noun}::store")))
        },
    },
    Rule {
        why: "src/store/ does not know what a row means: src/tables/ names the rows of the nouns",
        binds: |file| file.is_in("store"),
        forbids: |_, path| {
            NOUNS
                .iter()
                .chain(&["delivery", "http", "admin", "tables"])
                .any(|noun| starts_with(path, &format!("crate::{noun}")))
        },
    },
    Rule {
        why: "The store logs and skips a corrupt row: callers see decoded rows (Stored::valid, scan_valid, get_valid)",
        binds: |file| !(file.is_in("store") || SKIP_CORRUPT_VALUES.contains(&file.path.as_str())),
        forbids: |_, path| starts_with(path, "crate::store::skip_corrupt"),
    },
    Rule {
        why: "base/ holds shared values and knows nothing else of the program",
        binds: |file| file.is_in("base"),
        forbids: |_, path| starts_with(path, "crate") && !starts_with(path, "crate::base"),
    },
    Rule {
        why: "http/ is shared by all endpoints and knows none of them: app/router.rs lists them",
        binds: |file| file.is_in("http"),
        forbids: |_, path| NOUNS.iter().any(|noun| starts_with(path, &format!("crate::{noun}::api"))),
    },
    Rule {
        why: "Use cases and rows do not know the wire format: only handlers, app/ and the other interfaces to the same \
              requests (dashboard/, admin/, cli/) name crate::http",
        binds: |file| {
            let is_interface = ["http", "dashboard", "admin", "cli"].iter().any(|folder| file.is_in(folder));
            !(is_interface || file.is_api() || file.is_in("app"))
        },
        forbids: |_, path| starts_with(path, "crate::http"),
    },
    Rule {
        why: "app/ connects the parts: only main.rs, the command line and tests start an instance",
        binds: |file| !(file.is_in("app") || file.path == "main.rs" || file.is_in("cli")),
        forbids: |_, path| starts_with(path, "crate::app"),
    },
    Rule {
        why: "A handler uses the store module of its own noun and names no table",
        binds: Source::is_api,
        forbids: |_, path| starts_with(path, "crate::tables"),
    },
];

fn is_exception(file: &Source, path: &str) -> bool {
    EXCEPTIONS.iter().any(|(excepted, name, _)| file.path == *excepted && starts_with(path, name))
}

#[test]
fn imports_obey_the_rules() {
    let sources = sources();
    let mut report = String::new();
    for rule in RULES {
        let mut broken = BTreeSet::new();
        for file in sources.iter().filter(|file| (rule.binds)(file)) {
            for (line, path) in &file.names {
                if (rule.forbids)(file, path) && !is_exception(file, path) {
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
    for path in SKIP_CORRUPT_VALUES {
        let names = |file: &Source| file.names.iter().any(|(_, name)| starts_with(name, "crate::store::skip_corrupt"));
        if !sources.iter().any(|file| file.path == *path && names(file)) {
            let _ = writeln!(report, "\nsrc/{path} is listed in SKIP_CORRUPT_VALUES and skips none");
        }
    }
    for (path, name, reason) in EXCEPTIONS {
        let is_used = sources
            .iter()
            .any(|file| file.path == *path && file.names.iter().any(|(_, named)| starts_with(named, name)));
        if !is_used || reason.is_empty() {
            let _ = writeln!(report, "\nsrc/{path} is an exception for {name} without a reason or without use");
        }
    }
    assert!(report.is_empty(), "imports that break a rule\n{report}");
}

#[test]
fn each_rule_accepts_and_rejects() {
    let cases = [
        ("emails/read.rs", "redb::Database", false),
        ("store/writer.rs", "redb::Database", true),
        ("emails/send.rs", "salvo::Request", false),
        ("emails/api/send.rs", "salvo::Request", true),
        ("api_keys/api.rs", "salvo::Request", true),
        ("delivery/lane/mod.rs", "salvo::Request", false),
        ("domains/store.rs", "salvo::Request", false),
        ("emails/tags.rs", "salvo::oapi::ToSchema", true),
        ("emails/tags.rs", "salvo::Request", false),
        ("mime/build.rs", "tokio::time::sleep", false),
        ("mime/build.rs", "crate::base::random::token", false),
        ("mime/build.rs", "crate::emails::EmailContent", false),
        ("dns/mx.rs", "crate::domains::Domain", false),
        ("http_client/dial.rs", "crate::dns::Guard", true),
        ("http_client/dial.rs", "crate::http_client::RequestError", true),
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
        ("tables/mod.rs", "crate::emails::EmailRow", true),
        ("topics/list.rs", "crate::store::skip_corrupt", false),
        ("emails/stored.rs", "crate::store::skip_corrupt", true),
        ("emails/send.rs", "crate::http::ApiError", false),
        ("workers/supervisor.rs", "crate::app::App", false),
        ("cli/serve.rs", "crate::app::App", true),
    ];
    for (file, path, is_allowed) in cases {
        let file = Source { path: file.to_owned(), names: Vec::new() };
        let is_forbidden = RULES.iter().any(|rule| (rule.binds)(&file) && (rule.forbids)(&file, path));
        assert_eq!(!is_forbidden, is_allowed, "{} and {path}", file.path);
    }
}
