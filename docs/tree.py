"""Writes the tree in ARCHITECTURE.md from the first sentences of the files themselves. Crates come in the order of tools/arrows.toml, each
with its modules; files in Python and C follow. `generate.py` makes it with its other parts; alone it needs no program.

usage: tree.py [--check]     --check writes nothing, and fails where the tree is not what it would write
"""
import ast
import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "ARCHITECTURE.md"
# Crates of which the modules in folders have lines of their own, and folders of which that holds in every crate: one file an algorithm.
TWO_LEVELS, ALGORITHMS = {"transport", "fabric"}, {"controls", "balancers", "policies"}
# Beside the crates: a folder, its files.
FOLDERS = {
    "bpf": "*/*.[ch]",
    "python/farspan": "**/*.py",
    "bench": "**/*.py",
    "tests": "**/*.py",
    "tools": "**/*.py",
    "docs": "*.py",
    "notebooks": "*.py",
}
LONGEST = 160


def head(path):
    """The text at the top of a file that says what it is: doc comments, a docstring, the title of a notebook, or a comment."""
    text = re.sub(r"^(//|/\*) SPDX.*\n", "", path.read_text())
    if path.suffix == ".py" and (found := ast.get_docstring(ast.parse(text))):
        return found
    patterns = {".rs": r"(?m)((?:^//!.*\n)+)", ".py": r"# %% \[markdown\]\n# # (.*)", ".js": r"// (.*)"}
    found = re.search(patterns.get(path.suffix, r"(?s)/\*(.*?)\*/"), text)
    return re.sub(r"(?m)^( \*|//!) ?", "", found[1]) if found else ""


def sentence(path):
    """The first sentence of a file's head, in Markdown without links."""
    paragraph = " ".join(head(path).strip().split("\n\n")[0].split())
    text = re.match(r"(.*?)(?:\.(?=\s|$)|$)", paragraph)[1]
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)|\[(`[^`]+`)\]|:\w+:(?=`)", r"\1\2", text).replace("``", "`")
    if not text or len(text) > LONGEST:
        sys.exit(f"{path.relative_to(ROOT)}: say at its top what it is, in one sentence of at most {LONGEST} characters; it has {len(text)}")
    return text


def link(path, name=None):
    return f"[{name or path.stem}]({path.relative_to(ROOT).as_posix()})"


def is_test(path):
    return "tests" in path.parts or path.name == "tests.rs"


def below(folder):
    """The modules of a folder: name, file, and folder of its own modules."""
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if is_test(path.relative_to(ROOT)) or path.name in ("lib.rs", "mod.rs"):
            continue
        if (path / "mod.rs").is_file():
            yield path.name, path / "mod.rs", path
        elif path.suffix == ".rs":
            yield path.stem, path, path.with_suffix("")


def links(folder):
    """The modules of a folder as links, those in their folders in brackets."""
    inner = lambda folder: f" ({found})" if (found := links(folder)) else ""
    return ", ".join(link(path, name) + inner(deeper) for name, path, deeper in below(folder))


def modules(folder, levels, indent=""):
    """A line a module. The modules in its folder follow with lines of their own, if that many levels have them, or as links."""
    for name, path, inner in below(folder):
        has_lines = levels > 1 or name in ALGORITHMS
        yield f"{indent}- {link(path, name)}: {sentence(path)}" + ("" if has_lines or not links(inner) else f". {links(inner)}")
        yield from modules(inner, levels - 1, f"{indent}  ") if has_lines else ()


def crate(name):
    folder = ROOT / "crates" / name
    yield f"### {link(folder / 'src/lib.rs', f'crates/{name}')}\n\n{sentence(folder / 'src/lib.rs')}.\n"
    yield from modules(folder / "src", 2 if name in TWO_LEVELS else 1)
    yield from (f"- {link(path, f'assets/{path.name}')}: {sentence(path)}" for path in sorted(folder.glob("assets/*.js")))


def tree():
    known = list(tomllib.loads((ROOT / "tools/arrows.toml").read_text())["dependencies"])
    names = sorted((path.parent.name for path in ROOT.glob("crates/*/Cargo.toml")), key=known.index)
    lines = []
    for name in names:
        lines += [*crate(name), ""]
    for name, pattern in FOLDERS.items():
        folder = ROOT / name
        files = sorted(path for path in folder.glob(pattern) if path.relative_to(ROOT).parts[2:3] != ("tests",) and path.name != "__main__.py")
        lines += [f"### {name}/\n", *(f"- {link(path, path.relative_to(folder).as_posix())}: {sentence(path)}" for path in files), ""]
    return "\n".join(lines)


def made():
    """The page with its tree as it must be."""
    write = lambda mark: f"{mark[1]}\n{tree()}\n{mark[2]}"
    return re.sub(r"(?s)(<!-- made: tree -->\n).*?(<!-- end -->\n)", write, PAGE.read_text())


def main(*options):
    text = made()
    if "--check" not in options:
        PAGE.write_text(text)
    elif text != PAGE.read_text():
        sys.exit("the tree in ARCHITECTURE.md is out of date: run docs/tree.py")


if __name__ == "__main__":
    main(*sys.argv[1:])
