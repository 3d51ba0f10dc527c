"""Check of the samples in packaging/proxy: nginx and Caddy accept them.

`unpack_package` of tests/lib/setup.sh unpacks both programs, because the installation of a package can start a server.
"""

import os
import pathlib
import shutil
import socket
import subprocess
import tempfile

from repository import ROOT, LeftOut

SAMPLES = ROOT / "packaging" / "proxy"
UNPACKED = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "unpacked"
TIMEOUT_S = 60
CERTIFICATES = "/etc/letsencrypt/live/mail.example.com"
# The sample is a part of the block `http`. The paths that are compiled into nginx do not exist here.
NGINX = """
user root;
pid {folder}/pid;
events {{}}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    access_log off;
    {sample}
}}
"""


def find(name, path):
    """Returns the installed program, or else the unpacked one; `None` if neither exists."""
    installed, unpacked = shutil.which(name), UNPACKED / name / path
    return pathlib.Path(installed) if installed else unpacked if unpacked.exists() else None


def run(program, *arguments, folder):
    """Runs a program, with its libraries if it is unpacked. Returns its output; empty if it succeeds."""
    variables = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    if UNPACKED in program.parents:
        root = UNPACKED / program.relative_to(UNPACKED).parts[0]
        variables["LD_LIBRARY_PATH"] = ":".join(str(path) for path in root.glob("usr/lib/*-linux-gnu"))
    done = subprocess.run(
        [program, *arguments],
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
    )
    return done.stdout if done.returncode else ""


def has_ipv6():
    """Returns whether this machine has IPv6. nginx opens the sockets of the configuration for a moment."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
        return True
    except OSError:
        return False


def nginx(program, sample, folder):
    """Returns the errors of nginx about a sample."""
    new = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=mail.example.com"]
    new += ["-keyout", folder / "privkey.pem", "-out", folder / "fullchain.pem"]
    subprocess.run(["openssl", *new], check=True, capture_output=True, timeout=TIMEOUT_S)
    sample = sample.replace(CERTIFICATES, str(folder))
    if not has_ipv6():
        sample = sample.replace("listen [::]:443 ssl;", "")
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, sample=sample))
    return run(program, "-t", "-q", "-e", "stderr", "-p", folder, "-c", folder / "nginx.conf", folder=folder)


def caddy(program, sample, folder):
    """Returns the errors of Caddy about a sample."""
    (folder / "Caddyfile").write_text(sample)
    return run(program, "validate", "--adapter", "caddyfile", "--config", folder / "Caddyfile", folder=folder)


# Sample, program and its path in the package, check, and a directive with an unknown one.
PROXIES = [
    ("nginx.conf", "nginx", "usr/sbin/nginx", nginx, ("proxy_pass", "proxy_bass")),
    ("Caddyfile", "caddy", "usr/bin/caddy", caddy, ("reverse_proxy", "inverse_proxy")),
]


def samples(_files):
    """nginx and Caddy accept the samples for a reverse proxy."""
    if os.geteuid() != 0:
        raise LeftOut("nginx opens port 443 for a moment, which only root can do")
    programs = [find(name, path) for _, name, path, *_ in PROXIES]
    if not all(programs):
        raise LeftOut("tests/run unpacks nginx and Caddy, and here they do not exist")
    for program, (sample, _, _, errors, (directive, unknown)) in zip(programs, PROXIES):
        text = (SAMPLES / sample).read_text()
        with tempfile.TemporaryDirectory() as folder:
            found = errors(program, text, pathlib.Path(folder))
            if found:
                yield f"packaging/proxy/{sample}: {found.strip()}"
            if not errors(program, text.replace(directive, unknown), pathlib.Path(folder)):
                yield f"packaging/proxy/{sample} is accepted with an unknown directive"
