"""The suites: their installations, which come from lock files, and their commands."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = (ROOT / os.environ.get("CARGO_TARGET_DIR", "target")).resolve()
CLIENTS = TARGET / "clients"

INSTALL_TIMEOUT_S = 900
SUITE_TIMEOUT_S = 600


class Failure(Exception):
    """An error that ends the script. Its text is printed."""


class Suite:
    """A directory of tests/clients and the directory below target/ with its SDK."""

    name = ""
    code = None  # The directory of the suite, if another suite has its lock files there.
    locks = ()

    def __init_subclass__(cls):
        cls.lock = threading.Lock()
        cls.is_installed = False

    def __init__(self):
        self.packages = HERE / self.name
        self.source = HERE / (self.code or self.name)
        self.folder = CLIENTS / self.name

    def ensure(self):
        """Installs the suite once in this process. Suites that use the installation of another one call this too."""
        with self.lock:
            if not self.is_installed:
                self.install()
                type(self).is_installed = True

    def install(self):
        """Installs the SDK, unless it is installed from the same lock files."""
        digest = hashlib.sha256()
        for lock in self.locks:
            digest.update((self.packages / lock).read_bytes())
        stamp = self.folder / ".installed"
        if stamp.is_file() and stamp.read_text() == digest.hexdigest():
            return
        print(f"client {self.name}: installing into {self.folder}", flush=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.fetch()
        stamp.write_text(digest.hexdigest())

    def fetch(self):
        raise NotImplementedError

    def command(self):
        raise NotImplementedError

    def tool(self, *command, cwd=None, env=None):
        """Runs a command of an installation. A failure raises `Failure` with its output."""
        if shutil.which(command[0]) is None and not pathlib.Path(command[0]).exists():
            raise Failure(f"the {self.name} suite needs {command[0]}, which is not installed")
        done = subprocess.run(
            [str(part) for part in command],
            cwd=cwd or self.source,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            # Not in the result: cargo writes there that it waits for another installation.
            stderr=subprocess.PIPE,
            text=True,
            timeout=INSTALL_TIMEOUT_S,
        )
        if done.returncode != 0:
            raise Failure(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    def environment(self, server):
        """Returns the environment of the suite."""
        home = self.folder / "home"  # The CLI stores its profile here instead of in the home directory of the caller.
        home.mkdir(exist_ok=True)
        return {
            **os.environ,
            "CLIENT_NAME": self.name,
            "CLIENT_DIR": str(self.folder),
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home),
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
            "RESEND_API_KEY": server.key,
            "RESEND_BASE_URL": server.url,
            "RESEND_API_URL": server.url,  # Name of the same setting in Python.
            "RESEND_RATE_LIMIT": "100000",  # By default, resend-rs sends at most 9 requests per second.
            # Python loads the CA certificates again for each client of httpx, in 40 ms, also for URLs without TLS.
            "SSL_CERT_FILE": "",
            "SSL_CERT_DIR": str(home),
            "DO_NOT_TRACK": "1",
            "RESEND_NO_UPDATE_NOTIFIER": "1",
            "NO_COLOR": "1",
        }

    def run(self, server):
        """Returns the exit status and the output of the suite."""
        try:
            done = subprocess.run(
                [str(part) for part in self.command()],
                cwd=self.source,
                env=self.environment(server),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=SUITE_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired as expired:
            output = (expired.stdout or b"").decode(errors="replace")
            return 1, f"{output}\nclient {self.name}: did not finish within {SUITE_TIMEOUT_S} s"
        return done.returncode, done.stdout


class Npm(Suite):
    locks = ("package.json", "package-lock.json")

    def fetch(self):
        for lock in self.locks:
            shutil.copy(self.packages / lock, self.folder)
        # No package needs its install script.
        self.tool("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=self.folder)


class Node(Npm):
    name = "node"

    def command(self):
        return ["node", "suite.mjs"]


class NodeOlder(Node):
    name = "node-5"
    code = "node"


class Cli(Npm):
    name = "cli"

    def node(self):
        """Returns the Node that the CLI and the MCP server require."""
        # The npm package `node` installs a package for the platform. The lock file contains these packages directly.
        installed = sorted(self.folder.glob("node_modules/node-*/bin/node"))
        return installed[0] if installed else "node"

    def command(self):
        return [self.node(), "suite.mjs"]


class Mcp(Npm):
    name = "mcp"

    def install(self):
        super().install()
        Cli().ensure()

    def command(self):
        return [Cli().node(), "suite.mjs"]


class Python(Suite):
    name = "python"
    locks = ("requirements.txt",)

    def fetch(self):
        shutil.rmtree(self.folder)
        arguments = (self.folder, "--requirement", self.packages / "requirements.txt")
        self.tool("bash", "-c", '. "$0" && pip_install "$@"', ROOT / "tests" / "lib" / "setup.sh", *arguments)

    def command(self):
        return [self.folder / "bin" / "python", "-B", "suite.py"]


class PythonOlder(Python):
    name = "python-1"
    code = "python"


class MillionsendPython(Python):
    name = "millionsend-python"


class Anymail(Python):
    name = "anymail"


class Rust(Suite):
    name = "rust"
    sdk = "resend-rs"
    program = "ringmail-client-rust"
    source_variable = "RESEND_RS_SOURCE"
    build_folder = CLIENTS / "rust-build"  # Most dependencies are the same in all suites.

    def install(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        build = {"CARGO_TARGET_DIR": str(self.build_folder)}
        # Fetches the packages of all platforms, because the metadata includes all of them.
        self.tool("cargo", "fetch", "--locked", env=build)
        self.tool("cargo", "build", "--locked", "--offline", env=build)
        # The suite reads the list of methods from the source of the SDK.
        metadata = json.loads(
            self.tool("cargo", "metadata", "--locked", "--offline", "--format-version", "1", env=build)
        )
        manifest = next(p["manifest_path"] for p in metadata["packages"] if p["name"] == self.sdk)
        os.environ[self.source_variable] = str(pathlib.Path(manifest).parent / "src")

    def command(self):
        return [self.build_folder / "debug" / self.program]


class MillionsendRust(Rust):
    name = "millionsend-rust"
    sdk = "millionsend"
    program = "ringmail-client-millionsend"
    source_variable = "MILLIONSEND_SOURCE"


class Go(Suite):
    name = "go"
    options = ()
    # The caches of both versions and of the samples. With other settings, Go compiles its standard library again. Without cgo,
    # inlining and symbols, that takes a third less.
    build = {
        "CGO_ENABLED": "0",
        "GOMODCACHE": str(CLIENTS / "go" / "modules"),
        "GOCACHE": str(CLIENTS / "go" / "cache"),
        "GOFLAGS": "-mod=readonly -modcacherw -gcflags=all=-l",
    }

    def install(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.tool(
            "go",
            "build",
            *self.options,
            "-o",
            self.folder / "suite",
            "-ldflags=-s",
            ".",
            env=self.build,
        )

    def command(self):
        return [self.folder / "suite"]


class GoOlder(Go):
    name = "go-2"
    code = "go"
    options = ("-modfile", HERE / "go-2" / "go.mod", "-tags", "older")


class Samples(Suite):
    """The samples of the dashboard. They run with the installations of other suites."""

    name = "samples"
    needed = (Cli, Mcp, Node, Python, Anymail, Rust, Go)

    def install(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        for suite in self.needed:
            suite().ensure()

    def environment(self, server):
        return {**super().environment(server), **Go.build, "DASHBOARD_LINK": server.dashboard_link()}

    def command(self):
        return [Cli().node(), "suite.mjs"]


MILLIONSEND = [MillionsendPython, MillionsendRust]
# Suites by the tool that installs them, in the order in which they start.
LANGUAGES = {
    "cli": [Cli, Mcp],  # First, because the CLI takes the longest.
    "node": [Node, NodeOlder],
    "python": [Python, PythonOlder, MillionsendPython, Anymail],
    "rust": [Rust, MillionsendRust],
    "go": [Go, GoOlder],
    "samples": [Samples],
}
