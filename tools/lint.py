"""Lints that clippy and rustfmt have no rule for. Prints FILE:LINE for each finding; ends with 1 if there is one.

usage: lint.py [LINT ...]     all where none is named

sizes      a file of more than 500 lines before its tests; a function of more than 80 lines (Python, without docstrings; of Rust
           clippy counts the lines of code)
words      a name that tools/words.toml refuses
jargon     a word that tools/words.toml refuses in the pages and in the comments of the source
comments   a doc comment that begins with "The same" or "What": it must stand alone on the page that is made of it; any comment that
           begins with "Of", "By" or "So": the subject comes first
unfilled   a line of a page where a table should have been put: "TABLE", or a name between @@
sentences  a sentence of more than 30 words on the pages that a newcomer reads first
typed      a number on the first pages that no command writes: outside code, and between no `<!-- made: ... -->` and `<!-- end -->`
arrows     a crate that depends on another one of the workspace that tools/arrows.toml does not allow it; an arrow that is allowed
           there and not in its manifest
homonyms   two types of one name in one crate, outside its tests (Rust; names that a macro puts together are not seen)
undeclared a Rust file that no module declares: the compiler does not see it, and a test in it never runs
wildcards  an arm for all other variants, `matches!` or `if let` over controls or kinds of telemetry, outside tests (Rust)
imports    an import that runs up inside a crate, outside its tests: ARCHITECTURE.md has the order of its modules
moved      a registry, or the order of a crate's modules, that a lint reads and that is missing
"""
import ast
import collections
import fnmatch
import pathlib
import re
import subprocess
import sys
import tomllib

import rust_modules
import rust_source

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_LINES_OF_A_FILE, MOST_LINES_OF_A_FUNCTION = 500, 80
MOST_WORDS_OF_A_SENTENCE = 30
PAGES_WITHOUT_TYPED_NUMBERS = {"README.md", "docs/src/introduction.md", "docs/src/questions.md", "docs/src/which-transport.md"}
PLAIN_PAGES = PAGES_WITHOUT_TYPED_NUMBERS | {"docs/src/five-minutes.md", "docs/src/first-run.md", "docs/src/concepts.md"}
WORDS = tomllib.loads((ROOT / "tools/words.toml").read_text())
ARROWS = tomllib.loads((ROOT / "tools/arrows.toml").read_text())
NO_DOCUMENTATION = r"\s*//[/!]\s*(?:The same|What)\b"
# A comment by its first characters: in Rust and C, and elsewhere.
COMMENT = {True: r"\s*(?://[/!]?|/\*+)\s*", False: r"\s*#+\s*"}
# A pattern that anything matches: names and places for anything.
ANYTHING = re.compile(r"[\s(&,)|]*(?:(?:_|ref\b|mut\b|[a-z]\w*)[\s(&,)|]*)+")
# A line of its own, and indented below it the modules, each after those that it may import.
ORDER = re.compile(r"^order of (\S+):\n((?:[ ]+\S.*\n)+)", re.M)


def is_test(path):
    parts = pathlib.PurePath(path).parts
    return "tests" in parts or parts[-1] in ("tests.rs", "conftest.py") or parts[-1].startswith("test_")


def rust_sizes(path, source):
    before = rust_source.before_tests(source)
    if before > MOST_LINES_OF_A_FILE:
        yield before, f"a file of {before} lines before tests"


def python_sizes(path, source):
    lines = source.count("\n")
    if lines > MOST_LINES_OF_A_FILE:
        yield lines, f"a file of {lines} lines"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            text = node.body[0] if ast.get_docstring(node) else None
            lines = node.end_lineno - node.lineno + 1 - (text.end_lineno - text.lineno + 1 if text else 0)
            if lines > MOST_LINES_OF_A_FUNCTION:
                yield node.lineno, f"{node.name}: a function of {lines} lines"


def sizes(path, source):
    if is_test(path):
        return
    kinds = {".rs": rust_sizes, ".py": python_sizes}
    yield from kinds.get(pathlib.PurePath(path).suffix, lambda *_: ())(path, source)


def parts(name):
    """`run_inTurn` is `_run_in_turn_`."""
    return "_" + "_".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)).lower() + "_"


def refused(path, name):
    """The entry of the list that refuses a name in a file."""
    for entry in WORDS["word"]:
        hit = any(parts(name) == f"_{now[1:]}_" if now[0] == "=" else f"_{now}_" in parts(name) for now in entry["now"])
        here = any(fnmatch.fnmatch(path, only) for only in entry.get("only", ["*"]))
        if hit and here and not any(fnmatch.fnmatch(f"{path}:{name}", other) for other in entry.get("except", [])):
            return entry
    return None


def words(path, source):
    if not path.endswith(".rs"):
        return
    stem = pathlib.PurePath(path).stem
    if entry := refused(path, stem):
        yield 1, f"module {stem}: {entry['field']}"
    for kind, name, line in rust_source.declarations(rust_source.blanked(source)):
        if kind != "mod" and (entry := refused(path, name)):
            yield line, f"{kind} {name}: {entry['field']}"


def jargon(path, source):
    if path.endswith(".rs"):
        text = rust_source.comments(source)
    elif path.endswith(".md") and not path.endswith("CHANGELOG.md"):
        text = source
    else:
        return
    for n, line in enumerate(text.splitlines(), 1):
        for entry in WORDS["jargon"]:
            if found := re.search(entry["now"], line):
                yield n, f"{found[0]}: {entry['field']}"


def comments(path, source):
    if path.endswith(".md"):
        return
    begun = COMMENT[path.endswith((".rs", ".c", ".h"))]
    is_wrong, above = re.compile(rf"{NO_DOCUMENTATION}|{begun}(?:Of|By|So)\s"), ""
    for n, line in enumerate(source.splitlines(), 1):
        if is_wrong.match(line) and not re.match(rf"{begun}[^\s/!]", above):
            yield n, line.strip()
        above = line


def unfilled(path, source):
    if not path.endswith(".md"):
        return
    for n, line in enumerate(source.splitlines(), 1):
        if re.fullmatch(r"\s*(TABLE.*|@@.+@@)\s*", line):
            yield n, line.strip()


def prose(source):
    """(line, text) of each heading, paragraph, item and cell of a page, without code, parts that commands write, and addresses of links."""
    blank = lambda found: "\n" * found[0].count("\n")
    text = re.sub(r"```.*?```|<!-- made: .*?<!-- end -->|<!-- from: .*?<!-- to here -->|^    .*?$", blank, source, flags=re.S | re.M)
    text = re.sub(r"`[^`\n]*`", "code", re.sub(r"\]\([^)\n]*\)", "]", text))
    block, first = [], 1
    for n, line in enumerate([*text.splitlines(), ""], 1):
        cells = [cell for cell in line.split("|") if cell.strip()] if line.startswith("|") else []
        if block and (not line.strip() or cells or re.match(r"(- |#|\d+\. )", line)):
            yield first, " ".join(block)
            block = []
        if cells:
            yield from ((n, cell) for cell in cells)
        elif line.strip():
            first = first if block else n
            block.append(line.strip())


def sentences(path, source):
    if path not in PLAIN_PAGES:
        return
    for n, text in prose(source):
        for sentence in re.split(r"(?<=[.!?])\s+", text):
            words = len(sentence.split())
            # A list may be as long as there are things to name.
            is_list = 4 * len(re.findall("[,;]", sentence)) >= words
            if words > MOST_WORDS_OF_A_SENTENCE and not is_list:
                yield n, f"a sentence of {words} words: {sentence[:60]}"


def typed(path, source):
    if path not in PAGES_WITHOUT_TYPED_NUMBERS:
        return
    for n, text in prose(source):
        if found := re.search(r"(?<![\w.-])\d\S*", text):
            yield n, f"{found[0]}: let a command write it, or write it as code"


def own(manifest, kind):
    """The crates of the workspace that a manifest names under `kind`, of any target."""
    tables = [manifest, *manifest.get("target", {}).values()]
    names = {name for table in tables for name in table.get(kind, {})}
    return {name.removeprefix("farspan-") for name in names if name.startswith("farspan-")}


def reached(arrows, crate):
    """The crates that one depends on, through others too."""
    found, next_ones = set(), [crate]
    while next_ones:
        new = arrows.get(next_ones.pop(), set()) - found
        found |= new
        next_ones += new
    return found


def arrows(sources, allowed=ARROWS):
    manifests = {path: found[1] for path in sources if (found := re.fullmatch(r"crates/([^/]+)/Cargo\.toml", path))}
    normal = {}
    for path, crate in manifests.items():
        manifest = tomllib.loads(sources[path])
        lines = sources[path].splitlines()
        normal[crate] = own(manifest, "dependencies")
        if crate not in allowed["dependencies"]:
            yield path, 1, f"{crate} has no line in tools/arrows.toml"
            continue
        for kind in ("dependencies", "dev-dependencies"):
            there, listed = own(manifest, kind), set(allowed[kind].get(crate, ()))
            below = set(allowed["dependencies"][crate]) if kind == "dev-dependencies" else set()
            for other in sorted(there - listed - below):
                line = next(n for n, text in enumerate(lines, 1) if text.startswith(f"farspan-{other}"))
                yield path, line, f"{crate} may not depend on {other} ([{kind}] of tools/arrows.toml)"
            for other in sorted(listed - there):
                yield path, 1, f"{crate} does not depend on {other}: remove it from [{kind}] of tools/arrows.toml"
    for path, crate in manifests.items():
        for other in sorted(reached(normal, crate) & set(allowed["never"].get(crate, ()))):
            yield path, 1, f"{crate} sees {other}, through others"


def registered(sources):
    """The variants of each registry of controls or kinds of telemetry, by its file."""
    registries = {"crates/transport/src/congestion/controls/mod.rs": r"^    (\w+), \w+::\{", "crates/units/src/telemetry.rs": r'^    (\w+), "'}
    return {path: re.findall(line, sources.get(path, ""), re.M) for path, line in registries.items()}


def moved(sources):
    yield from ((path, 1, "no registry is here, which the lint of wildcards reads") for path, names in registered(sources).items() if not names)
    for root in sorted(layered(sources) - orders(sources).keys()):
        yield "ARCHITECTURE.md", 1, f"no `order of {root}:`, which the lint of imports reads"


def layered(sources):
    """The source folders of crates that have several modules, those for tests aside."""
    modules, is_for_tests = collections.defaultdict(set), tested_only(sources)
    for path in sources:
        if (found := re.match(r"(crates/[^/]+/src)/(.+\.rs)$", path)) and not is_for_tests(path):
            modules[found[1]].update(rust_modules.of_path(found[2])[:1])
    return {root for root, names in modules.items() if len(names) > 1}


def wildcards(sources):
    variants = registered(sources).values()
    enums = "|".join(WORDS["wildcards"]["enums"])
    names = [rf"(?:{enums})::[A-Z]\w*[a-z]", *(rf"Self::{name}" for found in variants for name in found if name != "None")]
    named, is_for_tests = rf"\b(?:{'|'.join(names)})\b", tested_only(sources)
    for path, source in sources.items():
        if path.endswith(".rs") and not is_for_tests(path):
            code = "".join(rust_source.blanked(source).splitlines(keepends=True)[: rust_source.before_tests(source)])
            yield from ((path, *found) for found in wildcards_of(code, named))
            for found in re.finditer(rf"\buse\b[^;]*\b(?:{enums})\s*(?:::\s*\*|as\b)", code):
                yield path, rust_source.line_of(code, found.start()), "variants by other names: name the enum"


def wildcards_of(code, named):
    for found in re.finditer(r"\bmatches!\s*\(|\blet\s[^=;]*=", code):
        end = rust_source.outside(code, found.end(), len(code), ")") if found[0].startswith("m") else found.end()
        if re.search(named, code[found.start() : end]):
            yield rust_source.line_of(code, found.start()), "one variant, and a wildcard for all others: match them all"
    for found in re.finditer(r"\bmatch\b", code):
        if not (span := rust_source.body(code, found.end())):
            continue
        arms = list(rust_source.arms(code, span[0]))
        if any(re.search(named, pattern) for _, pattern in arms):
            for index, pattern in arms:
                if ANYTHING.fullmatch(re.split(r"\bif\b", pattern)[0]):
                    yield rust_source.line_of(code, index), f"`{pattern}`: a wildcard; name the others"


def tested_only(sources):
    """Whether a file is compiled for tests alone."""
    tests = [module for path, source in sources.items() for module in rust_source.test_modules(path, source)]
    return lambda path: is_test(path) or any(f"{path.removesuffix('.rs')}/".startswith(f"{module}/") for module in tests)


def homonyms(sources):
    is_for_tests, definitions = tested_only(sources), collections.defaultdict(list)
    for path, source in sources.items():
        crate, in_crate, _ = path.partition("/src/")
        if not in_crate or is_for_tests(path) or not path.endswith(".rs"):
            continue
        before = rust_source.before_tests(source)
        for name, line in rust_source.types(rust_source.blanked(source)):
            if line <= before and f"{crate}:{name}" not in WORDS["homonyms"]["except"]:
                definitions[crate, name].append((path, line))
    for (crate, name), places in definitions.items():
        for path, line in places if len(places) > 1 else []:
            yield path, line, f"{name}: one of {len(places)} types of this name in {crate}"


# Where the compiler begins to read.
ROOT_FILE = re.compile(r"/src/(lib|main|bin/[^/]+)\.rs$|^((?!/src/).)*/(build|(tests|examples|benches)/([^/]+|[^/]+/main))\.rs$")


def undeclared(sources):
    code = {path: source for path, source in sources.items() if path.endswith(".rs")}
    for path in code:
        pure = pathlib.PurePath(path)
        module = pure.parent if pure.name == "mod.rs" else pure.with_suffix("")
        folder = str(module.parent)
        above = [f"{folder}.rs", f"{folder}/mod.rs", *(root for root in code if ROOT_FILE.search(root) and str(pathlib.PurePath(root).parent) == folder)]
        declared = rf"\bmod {module.name};"
        by_path = f'/{"/".join(pure.parts[-2:])}"]'
        is_known = any(re.search(declared, code.get(parent, "")) for parent in above) or any(by_path in source for source in code.values())
        if path.startswith(("crates/", "examples/")) and not ROOT_FILE.search(path) and not is_known:
            yield path, 1, f"no module declares it: write `mod {module.name};` in the file above"


def unit(order, module):
    """The listed module that a module belongs to: itself, or the nearest above it."""
    above = (module[:n] for n in range(len(module), 0, -1))
    return next((name for name in above if name in order), None)


def orders(sources):
    """The order of modules below each source folder, from ARCHITECTURE.md."""
    page = sources.get("ARCHITECTURE.md", "")
    return {found[1]: [tuple(name.split("/")) for name in found[2].split()] for found in ORDER.finditer(page)}


def imports(sources):
    for root, order in orders(sources).items():
        yield from imports_of(root, order, sources)


def imports_of(root, order, sources):
    files = {path.removeprefix(f"{root}/"): source for path, source in sources.items() if path.startswith(f"{root}/")}
    crate, is_for_tests = rust_modules.Crate(files), tested_only(files)
    for missing in (name for name in order if name not in crate.modules):
        yield "ARCHITECTURE.md", 1, f"{'::'.join(missing)}: no module of {root}"
    for path, source in files.items():
        module = rust_modules.of_path(path)
        if not module or is_for_tests(path):
            continue
        if (here := unit(order, module)) is None:
            yield f"{root}/{path}", 1, f"{'::'.join(module)}: not in the order of {root}"
            continue
        homes = crate.imports(module, rust_source.before_tests(source))
        for line, there in dict.fromkeys((line, unit(order, home)) for line, home in homes):
            if there and order.index(there) > order.index(here):
                yield f"{root}/{path}", line, f"{'::'.join(there)} stands above {'::'.join(here)}"


def of_each(lint):
    """A lint of one file, for all files."""
    return lambda sources: ((path, *found) for path, source in sources.items() for found in lint(path, source))


LINTS = {lint.__name__: of_each(lint) for lint in (sizes, words, jargon, comments, unfilled, sentences, typed)} | {
    lint.__name__: lint for lint in (arrows, homonyms, undeclared, wildcards, imports, moved)
}


def read():
    """The files that lints look at, by path."""
    listed = subprocess.run(["git", "ls-files", "*.rs", "*.py", "*.md", "*.toml", "*.c", "*.h", ".ci/*", "Makefile"], cwd=ROOT, check=True, capture_output=True, text=True)
    paths = sorted(path for path in listed.stdout.split() if (ROOT / path).is_file())
    return {path: (ROOT / path).read_text() for path in paths}


def main(*names):
    if unknown := set(names) - set(LINTS):
        sys.exit(f"no lint is called {', '.join(sorted(unknown))}; there are {', '.join(LINTS)}")
    sources, count = read(), 0
    for name in names or LINTS:
        for path, line, what in LINTS[name](sources):
            print(f"{path}:{line}: {name}: {what}")
            count += 1
    if count:
        sys.exit(f"{count} findings")


if __name__ == "__main__":
    main(*sys.argv[1:])
