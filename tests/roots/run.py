"""Installs farspan where there is next to nothing, and uses it. The static program gets a root that holds it, /proc and /dev/null; the
wheel gets one of Debian 12 with Python 3.11 and pip. Neither has a compiler or a network. Prints sizes and seconds.

usage: run.py [program] [wheel]     what `make dist` and `make wheel` left in out/dist; both where none is named

It takes root, namespaces, and for the wheel mmdebstrap: where they are missing it says so, and tries nothing. Each command has 300 s.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(HERE / "tools"))
from skipped import skipped

OUT, DIST = HERE / "out/roots", HERE / "out/dist"
SECONDS_OF_A_COMMAND, SECONDS_OF_DEBIAN = 300, 600
# In namespaces of its own: the mounts end with the command, and there is no interface but a dead loopback.
ENTER = """mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/dev" && : >"$0/dev/null" && mount --bind /dev/null "$0/dev/null" && exec chroot "$0" "$@" """
NAMESPACES = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]
SMALL = ["--set", "workload.flow_size=1MiB"]
DEMO = ["demo", "--seeds", "1..2", "--quiet", *SMALL]
RUN = ["run", "uno/incast-mixed", "--seed", "1", "--out", "run", "--json", *SMALL]
SWEEP = ["sweep", "uno/incast-mixed", "--scheme", "uno,gemini", "--grid", "topology.wan.rtt=1ms,2ms", "--out", "sweep", "--json", *SMALL]
REPORT = ["report", "run", "-o", "page.html"]
WRITTEN = ["farspan-demo/report.html", "run/flows.parquet", "sweep/runs.parquet", "page.html"]
PYTHON = """import farspan as fs
result = fs.run("uno/incast-mixed", seed=1, set={"workload.flow_size": "1MiB"})
print(result.summary["digest"])"""


def inside(root, *words):
    """What a command in a root prints; it ends the test where it fails or takes too long."""
    began = time.monotonic()
    environment = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/", "LC_ALL": "C.UTF-8"}
    done = subprocess.run([*NAMESPACES, "sh", "-c", ENTER, root, *words], env=environment, capture_output=True, text=True, timeout=SECONDS_OF_A_COMMAND)
    if done.returncode:
        sys.exit(f"FAILED ({done.returncode}): {' '.join(words)}\n{done.stdout}{done.stderr}")
    print(f"  {time.monotonic() - began:6.1f} s  {' '.join(words[:5])}")
    return done.stdout


def used(root, command):
    """Runs the four commands; gives the digest of the run."""
    print("".join(f"            {line}\n" for line in inside(root, command, "--version").splitlines()), end="")
    inside(root, command, *DEMO)
    digest = json.loads(inside(root, command, *RUN))["digest"]
    rows = json.loads(inside(root, command, *SWEEP))["rows"]
    assert [row["status"] for row in rows] == ["done"] * 4, rows
    inside(root, command, *REPORT)
    empty = [name for name in WRITTEN if not (root / name).stat().st_size]
    assert not empty, empty
    return digest


def only(pattern):
    found = list(DIST.glob(pattern))
    if len(found) != 1:
        sys.exit(f"{len(found)} of {pattern} in out/dist: run `make dist` and `make wheel`")
    return found[0]


def size(path):
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file() and not file.is_symlink()) / 1e6


def program(above):
    """The static program in a root that holds nothing else."""
    archive, root = only("farspan-*.tar.gz"), above / "program"
    for folder in ("proc", "dev"):
        (root / folder).mkdir(parents=True)
    with tarfile.open(archive) as files:
        entry = next(entry for entry in files.getmembers() if pathlib.PurePath(entry.name).name == "farspan" and entry.isfile())
        (root / "farspan").write_bytes(files.extractfile(entry).read())
    (root / "farspan").chmod(0o755)
    print(f"program: {archive.name}, {archive.stat().st_size / 1e6:.1f} MB; its root {size(root):.1f} MB")
    return used(root, "/farspan")


def wheel(above):
    """The wheel in a plain Debian 12, which has Python 3.11."""
    archive, root, debian = only("farspan-*.whl"), above / "wheel", OUT / "debian-12.tar"
    if not debian.is_file():
        part = debian.with_suffix(".part.tar")
        subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", "--include=python3,python3-pip", "bookworm", part], check=True, timeout=SECONDS_OF_DEBIAN)
        part.rename(debian)
    subprocess.run(["mkdir", root], check=True)
    subprocess.run(["tar", "-C", root, "--exclude=./dev/*", "-xf", debian], check=True, timeout=SECONDS_OF_DEBIAN)
    shutil.copy(archive, root)
    compilers = [name for name in ("cc", "gcc", "clang", "cargo", "rustc") if (root / "usr/bin" / name).exists()]
    assert not compilers, compilers
    print(f"wheel: {archive.name}, {archive.stat().st_size / 1e6:.1f} MB; its root {size(root):.1f} MB: {inside(root, 'python3', '--version').strip()}")
    # This Debian is for one package: pip need not keep out of its way.
    inside(root, "pip", "install", "--quiet", "--no-index", "--break-system-packages", f"/{archive.name}")
    installed = next(root.glob("usr/local/lib/python3.11/dist-packages/farspan"))
    print(f"            installed: {size(installed):.1f} MB")
    digest = used(root, "farspan")
    imported = inside(root, "python3", "-c", PYTHON).strip()
    assert imported == digest, (imported, digest)
    return digest


def missing(parts):
    """What this machine lacks, with a cure, or None."""
    if os.geteuid() != 0:
        return "only root makes roots: run it by sudo"
    if subprocess.run([*NAMESPACES, "true"], capture_output=True).returncode:
        return "no namespaces for mounts, network and processes: allow them to this machine"
    if "wheel" in parts and not (shutil.which("mmdebstrap") or (OUT / "debian-12.tar").is_file()):
        return "no mmdebstrap: apt install mmdebstrap"
    return None


def main(*words):
    parts = {name: {"program": program, "wheel": wheel}[name] for name in words or ("program", "wheel")}
    if lacks := missing(parts):
        return skipped("roots", lacks)
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=OUT) as above:
        digests = {name: part(pathlib.Path(above)) for name, part in parts.items()}
    assert len(set(digests.values())) == 1, digests
    for name, digest in digests.items():
        print(f"digest of the run: {digest} ({name})")


main(*sys.argv[1:])
