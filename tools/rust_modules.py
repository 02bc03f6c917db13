"""The modules of a Rust crate and the imports between them, through whatever re-exports them.

Seen are `use` items and paths that begin with `crate`, `super` or `self`. Modules written inside a file count as part of it.
"""
import pathlib
import re

import rust_source

USE = re.compile(r"^[ \t]*(?:pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.M)
INLINE = re.compile(r"\b(?:crate|super|self)(?:\s*::\s*(?:r#)?[A-Za-z_]\w*)+")
VISIBILITY = re.compile(r"\bpub\s*\([^)]*\)")
DEEPEST = 16  # re-exports of re-exports


def of_path(path):
    """The module that a file of a crate is, below `src/`, as a tuple: `a/b.rs` and `a/b/mod.rs` are both (a, b)."""
    parts = pathlib.PurePath(path).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts


def split(tree):
    """The members of a list of a use tree, at its outermost commas."""
    depth, members = 0, [""]
    for c in tree:
        depth += (c == "{") - (c == "}")
        if c == "," and depth == 0:
            members.append("")
        else:
            members[-1] += c
    return [member.strip() for member in members if member.strip()]


def leaves(tree, before=()):
    """(path, name here) of each name that a use tree brings; the name of a glob is `*`."""
    tree = tree.strip()
    if found := re.fullmatch(r"(?:(.*?)::\s*)?\{(.*)\}", tree, re.S):
        stem = before + tuple(part.strip() for part in found[1].split("::")) if found[1] else before
        for member in split(found[2]):
            yield from leaves(member, stem)
        return
    path, _, name = (part.strip() for part in re.sub(r"\s+", " ", tree).partition(" as "))
    path = before + tuple(part.strip() for part in path.split("::"))
    if path[-1] == "self":
        path = path[:-1]
    yield path, name or path[-1]


class Crate:
    """The modules of a crate, from its files by their paths below `src/`."""

    def __init__(self, files):
        # What may see an item is no import.
        plain = {path: VISIBILITY.sub(lambda found: "pub" + " " * (len(found[0]) - 3), rust_source.blanked(source)) for path, source in files.items()}
        self.code = {of_path(path): code for path, code in plain.items()}
        self.modules = {module[:n] for module in self.code for n in range(len(module) + 1)}
        self.declared = {module: {name for _, name, _ in rust_source.declarations(code)} for module, code in self.code.items()}
        self.names, self.globs = {}, {}
        for module, code in self.code.items():
            for found in USE.finditer(code):
                for path, name in leaves(found[1]):
                    target = self.absolute(module, path)
                    if target is None:
                        continue
                    if name == "*":
                        self.globs.setdefault(module, []).append(target[:-1])
                    else:
                        self.names.setdefault((module, name), target)

    def absolute(self, module, path):
        """A path from the root of the crate; None: it leads out of the crate."""
        first, rest = path[0], path[1:]
        if first == "crate":
            return rest
        if first == "self":
            return module + rest
        if first == "super":
            above = self.absolute(module[:-1], ("self", *rest)) if rest and rest[0] != "super" else None
            return above if above is not None else self.absolute(module[:-1], rest) if rest else module[:-1]
        is_here = (*module, first) in self.modules or first in self.declared.get(module, ())
        return module + path if is_here else None

    def home(self, path, depth=0):
        """The module in which what a path names is written."""
        module = ()
        for n, name in enumerate(path):
            if (*module, name) in self.modules:
                module = (*module, name)
                continue
            if name in self.declared.get(module, ()) or depth == DEEPEST:
                return module
            if target := self.names.get((module, name)):
                return self.home(target + path[n + 1 :], depth + 1)
            globs = self.globs.get(module, [])
            named = [glob for glob in globs if name in self.declared.get(glob, ()) or (glob, name) in self.names]
            # Names that a macro puts together are declared nowhere: they come by the only glob there is.
            if named or len(globs) == 1:
                return self.home((named or globs)[0] + path[n:], depth + 1)
            return module
        return module

    def imports(self, module, lines):
        """(line, home) of each path of a module's first lines that leads to another module."""
        code = "".join(self.code[module].splitlines(keepends=True)[:lines])
        for found in USE.finditer(code):
            for path, _ in leaves(found[1]):
                target = self.absolute(module, path)
                if target is not None:
                    yield rust_source.line_of(code, found.start(1)), self.home(tuple(t for t in target if t != "*"))
        for found in INLINE.finditer(USE.sub(lambda use: re.sub(r"[^\n]", " ", use[0]), code)):
            path = tuple(part.strip() for part in found[0].split("::"))
            target = self.absolute(module, path)
            if target is not None:
                yield rust_source.line_of(code, found.start()), self.home(target)
