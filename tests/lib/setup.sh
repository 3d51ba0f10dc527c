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
        echo "missing: $1" >&2
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

# python_environment: makes $PYTHON a Python that has the packages of tests/lib/requirements.txt.
python_environment() {
    local folder=$TARGET/python wanted=$ROOT/tests/lib/requirements.txt
    need python3 python3 || return 1
    if ! cmp -s "$wanted" "$folder/installed.txt"; then
        rm -rf "$folder"
        mkdir -p "$TARGET"
        if ! python3 -m venv "$folder" >/dev/null 2>&1; then
            rm -rf "$folder"
            install_packages python3-venv && python3 -m venv "$folder" || return 1
        fi
        "$folder/bin/pip" install --quiet --disable-pip-version-check -r "$wanted" || return 1
        cp "$wanted" "$folder/installed.txt"
    fi
    PYTHON=$folder/bin/python
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
