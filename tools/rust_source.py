"""As much of Rust as the lints need: source without comments and text, and the names that it declares."""
import pathlib
import re

# Longest first: a raw string may hold quotes, a lifetime is no character.
TOKENS = re.compile(
    r'//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:[^"\\]|\\.)*"|b?\'(?:[^\'\\\n]|\\(?:x..|u\{[^}]*\}|.))\'', re.S
)
DECLARED = re.compile(r"\b(fn|struct|enum|union|trait|type|mod|const|static)\s+(?!fn\b|unsafe\b)(?:mut\s+)?(?:r#)?([A-Za-z_]\w*)")
FIELD = re.compile(r"(?:^|[{,\]])\s*(?:pub(?:\([^)]*\))?\s+)?([a-z_]\w*)\s*:(?!:)")
VARIANT = re.compile(r"(?:^|[{,\]])\s*([A-Z]\w*)")


def blanked(source):
    """The source with comments, text and characters as blanks: every other character where it was."""
    return TOKENS.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)


def comments(source):
    """The source with everything but its comments as blanks."""
    kept = list(re.sub(r"[^\n]", " ", source))
    for found in TOKENS.finditer(source):
        if found[0].startswith(("//", "/*")):
            kept[found.start() : found.end()] = found[0]
    return "".join(kept)


def closing(code, start):
    """Index after the brace that closes the one at `start`."""
    depth = 0
    for found in re.compile(r"[{}]").finditer(code, start):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return found.end()
    return len(code)


def line_of(code, index):
    return code.count("\n", 0, index) + 1


def body(code, start):
    """The braces of a declaration that begins at `start`, as (from, to); None where it has none."""
    depth = 0
    for found in re.compile(r"[()\[\]{;]").finditer(code, start):
        if found[0] in "([":
            depth += 1
        elif found[0] in ")]":
            depth -= 1
        elif depth == 0:
            return (found.start(), closing(code, found.start())) if found[0] == "{" else None
    return None


def shallow(code, start, end):
    """The text between two braces with everything nested in it blanked: generics stay."""
    depth, out = 0, []
    for c in code[start + 1 : end - 1]:
        depth -= c in ")]}"
        out.append(c if depth == 0 or c == "\n" else " ")
        depth += c in "([{"
    return "".join(out)


def declarations(code):
    """(kind, name, line) of every function, type, field, variant, module and constant of blanked code."""
    for found in DECLARED.finditer(code):
        kind, name = found.groups()
        if kind == "fn" and re.search(r"#\[(?:\w+::)?test\]\s*(?:#\[[^\]]*\]\s*)*$", code[: found.start()]):
            continue
        yield kind, name, line_of(code, found.start())
        span = body(code, found.end()) if kind in ("struct", "enum", "union") else None
        if span:
            inner, member = shallow(code, *span), VARIANT if kind == "enum" else FIELD
            for part in member.finditer(inner):
                yield "variant" if kind == "enum" else "field", part[1], line_of(code, span[0] + 1 + part.start(1))


def types(code):
    """(name, line) of every type and trait of blanked code. Associated types are left out: they are named by their trait."""
    inside = [body(code, found.end()) for found in re.finditer(r"^\s*(?:pub\S* )?(?:unsafe )?(?:impl|trait)\b", code, re.M)]
    inside = [(line_of(code, span[0]), line_of(code, span[1] - 1)) for span in inside if span]
    for kind, name, line in declarations(code):
        is_associated = kind == "type" and any(first <= line <= last for first, last in inside)
        if kind in ("struct", "enum", "union", "trait", "type") and not is_associated:
            yield name, line


def arms(code, start):
    """(index, pattern) of each arm of the match whose braces begin at `start`."""
    index, end = start + 1, closing(code, start) - 1
    while code[index:end].strip():
        index += len(code[index:end]) - len(code[index:end].lstrip())
        arrow = outside(code, index, end, "=>")
        yield index, code[index:arrow].strip()
        value = arrow + 2 + len(code[arrow + 2 : end]) - len(code[arrow + 2 : end].lstrip())
        after = closing(code, value) if code[value] == "{" else outside(code, value, end, ",")
        index = after + 1 if code[after : after + 1] == "," else after


def outside(code, start, end, text):
    """Where a text stands between two places outside of any brackets; the second place if it does not."""
    depth = 0
    for index in range(start, end):
        if depth == 0 and code.startswith(text, index):
            return index
        depth += (code[index] in "([{") - (code[index] in ")]}")
    return end


def test_modules(path, source):
    """The modules that a file declares for tests alone, as paths without `.rs`."""
    path = pathlib.PurePath(path)
    folder = path.parent if path.name in ("mod.rs", "lib.rs", "main.rs") else path.with_suffix("")
    declared = r"^\s*#\[cfg\((?:all\()?test\b[^\n]*\n(?:\s*#\[[^\n]*\n)*\s*(?:pub\S* )?mod (\w+);"
    return [str(folder / name) for name in re.findall(declared, source, re.M)]


def before_tests(source):
    """The number of lines before a file's own tests, which stand last."""
    found = re.search(r"^#\[cfg\(test\)\]\n(?:#\[[^\n]*\n)*(?:pub\S* )?mod \w+(?: \{|;\s*\Z)", source, re.M)
    return line_of(source, found.start()) - 1 if found else len(source.splitlines())
