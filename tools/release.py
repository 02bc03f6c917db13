"""Checks what `make wheel` and `make dist` built, and packs a release into out/dist.

usage: release.py wheel                  the wheel there: its tag, and the libraries and symbols that its code asks the system for; puts the
                                         licences of what is linked into it
       release.py program BINARY         that the program is static; packs it with pages, completions and licences
       release.py notes                  the notes alone: the changelog's newest section, which must be this release's
All write the notes, and the checksums of all that is there. Ends with 1 where a check fails.
"""
import base64
import gzip
import hashlib
import json
import pathlib
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIST = ROOT / "out/dist"
PACKAGE = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
VERSION, REPOSITORY = PACKAGE["version"], PACKAGE["repository"]
# The oldest glibc that a wheel may ask for, and what manylinux promises beside it.
GLIBC = (2, 28)
PROMISED = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
# Debian's packages of what is linked into the static program beside the crates; each has its licence in its folder of /usr/share/doc.
SYSTEM = ["libc6-dev", "libelf-dev", "zlib1g-dev"]
PAGES = ["README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE-APACHE", "LICENSE-MIT"]


def output(*words):
    return subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def dotted(version):
    return ".".join(map(str, version))


def refuse_unless(holds, message):
    if not holds:
        sys.exit(f"release.py: {message}")


def check_wheel(wheel):
    tag = re.fullmatch(rf"farspan-{re.escape(VERSION)}-cp311-abi3-manylinux_(\d+)_(\d+)_\w+(\.\w+)?\.whl", wheel.name)
    refuse_unless(tag and (int(tag[1]), int(tag[2])) <= GLIBC, f"{wheel.name}: not abi3 for Python 3.11 and glibc {dotted(GLIBC)}")
    with zipfile.ZipFile(wheel) as files, tempfile.TemporaryDirectory() as folder:
        code = [name for name in files.namelist() if ".so" in name]
        refuse_unless(code == ["farspan/_farspan.abi3.so"], f"{wheel.name}: its code is {code}")
        needs, newest = asked(files.extract(code[0], folder))
        licences = files.read(f"farspan-{VERSION}.dist-info/licenses/THIRD-PARTY.txt").decode()
        metadata = files.read(f"farspan-{VERSION}.dist-info/METADATA").decode()
    required = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:") and "extra ==" not in line]
    refuse_unless(not required, f"{wheel.name}: the plain package requires {required}")
    refuse_unless(all(name in licences for name in ("jemalloc", "zstd", "parquet")), f"{wheel.name}: lacks licences of what is linked in")
    refuse_unless(needs <= PROMISED, f"{wheel.name}: it needs {sorted(needs - PROMISED)}, which no manylinux promises")
    refuse_unless(newest <= GLIBC, f"{wheel.name}: it asks for glibc {dotted(newest)}")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, asks for glibc {dotted(newest)} and {', '.join(sorted(needs))}")


def license_wheel(wheel):
    """Puts the licences of what is linked in into the wheel."""
    info, text = f"farspan-{VERSION}.dist-info", third_parties([], "-p", "farspan-python").encode()
    name, record = f"{info}/licenses/THIRD-PARTY.txt", f"{info}/RECORD"
    digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
    licensed = wheel.with_suffix(".part")
    with zipfile.ZipFile(wheel) as before, zipfile.ZipFile(licensed, "w", zipfile.ZIP_DEFLATED) as after:
        for entry in before.infolist():
            if entry.filename not in (name, record):
                after.writestr(entry, before.read(entry))
        after.writestr(name, text)
        lines = [line for line in before.read(record).decode().splitlines() if not line.startswith(f"{name},")]
        after.writestr(record, "\n".join([*lines, f"{name},sha256={digest},{len(text)}", ""]))
    licensed.replace(wheel)


def asked(library):
    """The shared libraries that an ELF file needs, and the newest version of glibc's symbols in it."""
    text = output("readelf", "--wide", "--dynamic", "--version-info", library)
    versions = [tuple(map(int, found.split("."))) for found in re.findall(r"Name: GLIBC_([\d.]+)\s+Flags", text)]
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", text)), max(versions, default=(0,))


def check_program(binary):
    needs, _ = asked(binary)
    refuse_unless(not needs and "INTERP" not in output("readelf", "--wide", "--program-headers", binary), f"{binary} is not static: it needs {needs}")


def third_parties(system, *words):
    """The licences of what is linked in (crates, by words for cargo, and the system's packages), each text once under those that have it."""
    wanted = {tuple(line.split(" ")[:2]) for line in output("cargo", "tree", "--locked", *words, "-e", "normal", "--prefix", "none").splitlines()}
    host = re.search(r"^host: (.+)$", output("rustc", "-vV"), re.M)[1]
    packages = json.loads(output("cargo", "metadata", "--locked", "--all-features", "--filter-platform", host, "--format-version", "1"))["packages"]
    texts, listed = {}, []
    for package in sorted(packages, key=lambda package: package["name"]):
        if (package["name"], f"v{package['version']}") not in wanted or package["source"] is None:
            continue
        crate = f"{package['name']} {package['version']}"
        listed.append(f"{crate}: {package['license']}\n")
        # Some crates bring a C library, which has a licence of its own, below.
        for path in sorted(pathlib.Path(package["manifest_path"]).parent.rglob("*")):
            if path.is_file() and re.match(r"(?i)(licen[cs]e|copying|notice|unlicense)(?!.*\.(rs|py|c|h|sh)$)", path.name):
                texts.setdefault(path.read_text(errors="replace").strip(), []).append(crate)
    for package in system:
        path = pathlib.Path("/usr/share/doc", package, "copyright")
        refuse_unless(path.is_file(), f"{path} is missing: the licence of what is linked in")
        listed.append(f"{package} (Debian's): see below\n")
        texts.setdefault(path.read_text().strip(), []).append(package)
    rule = "\n" + "-" * 80 + "\n"
    return "".join(listed) + "".join(f"{rule}{', '.join(crates)}{rule}\n{text}\n" for text, crates in texts.items())


def absolute(text):
    """A page with its links into the source as addresses, where there is an address."""
    return re.sub(r"\]\((?!\w+:|#)", f"]({REPOSITORY}/blob/v{VERSION}/", text) if REPOSITORY else text


def notes(changelog):
    """The changelog's newest section, which must be this release's."""
    _, newest, *_ = re.split(r"^## ", changelog, flags=re.M)
    title, _, text = newest.partition("\n")
    refuse_unless(title.split()[0] == VERSION, f"the changelog's newest section is {title}, Cargo.toml says {VERSION}")
    return absolute(f"# farspan {VERSION}\n{text}")


def laid_out(binary, folder):
    """The files of the archive, in a folder."""
    output("install", "-D", binary, f"{folder}/farspan")
    for page in PAGES:
        text = (ROOT / page).read_text()
        (folder / page).write_text(absolute(text) if page.endswith(".md") else text)
    (folder / "THIRD-PARTY.txt").write_text(third_parties(SYSTEM, "-p", "farspan-cli", "--features", "emu,import,kernel,ledger"))
    (folder / "completions").mkdir()
    for shell, file in {"bash": "farspan.bash", "zsh": "_farspan", "fish": "farspan.fish"}.items():
        (folder / "completions" / file).write_text(output(binary, "completions", shell))
    output(binary, "man", folder / "man/man1")


def pack(binary):
    """The archive of the program: equal files give equal bytes, whoever packs them and when."""
    name = f"farspan-{VERSION}-{platform.machine()}-linux"
    when = int(output("git", "log", "-1", "--format=%ct"))

    def plain(entry):
        entry.uid, entry.gid, entry.uname, entry.gname, entry.mtime = 0, 0, "", "", when
        return entry

    archive = DIST / f"{name}.tar.gz"
    with tempfile.TemporaryDirectory() as above:
        folder = pathlib.Path(above, name)
        folder.mkdir()
        laid_out(binary, folder)
        with open(archive, "wb") as file, gzip.GzipFile("", "wb", 9, file, when) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
            tar.add(folder, name, filter=plain)
    print(f"{archive.name}: {archive.stat().st_size / 1e6:.1f} MB; the program in it {pathlib.Path(binary).stat().st_size / 1e6:.1f} MB, static")
    print(output(binary, "--version"), end="")


def main(what, *words):
    DIST.mkdir(parents=True, exist_ok=True)
    if what == "wheel":
        wheels = list(DIST.glob("*.whl"))
        refuse_unless(len(wheels) == 1, f"{len(wheels)} wheels in {DIST}: run `make wheel`")
        license_wheel(*wheels)
        check_wheel(*wheels)
    elif what == "program":
        check_program(*words)
        pack(*words)
    (DIST / "NOTES.md").write_text(notes((ROOT / "CHANGELOG.md").read_text()))
    files = sorted(DIST.glob(f"farspan-{VERSION}-*"))
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
    (DIST / "SHA256SUMS").write_text(sums)


if __name__ == "__main__":
    main(*sys.argv[1:])
