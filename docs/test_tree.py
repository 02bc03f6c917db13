"""The tree of ARCHITECTURE.md is up to date and leads to what a newcomer looks for; pages of schemes and their files name each other.

usage: test_tree.py
"""
import pathlib
import re
import tempfile
import unittest

import tree

ROOT = tree.ROOT
TRANSPORT = ROOT / "crates/transport/src"
# For each thing that a newcomer looks for: its file, and what it has there. From README to the tree, from there to the file: two clicks.
LOOKED_FOR = {
    "BBR's startup": ("crates/transport/src/congestion/controls/bbr/startup.rs", "fn check"),
    "the phantom queue": ("crates/fabric/src/queue/phantom.rs", "struct PhantomQueue"),
    "the proxy's NACK": ("crates/transport/src/proxy/streamlined.rs", "fn nack"),
    "the decoder": ("crates/transport/src/coding/mds.rs", "fn reconstruct"),
    "the emulator's loop": ("crates/emu/src/linux/tun_loop.rs", "fn run"),
    "the report's first chart": ("crates/report/assets/charts.js", "function draw"),
}
# Registries of schemes: a file that lists them, and what names a module beside it.
REGISTERED = r"^    [A-Z]\w*, ([a-z]\w*)(?:::|,)"
REGISTRIES = {
    "congestion/controls/mod.rs": REGISTERED,
    "balance/balancers/mod.rs": REGISTERED,
    "recovery/policies/mod.rs": REGISTERED,
    "ack/policies/mod.rs": REGISTERED,
    "coding/mod.rs": REGISTERED,
    "proxy/mod.rs": r'Self::\w+\(_\) => "(\w+)"',
}


def links(page):
    """The files that a page links to."""
    found = re.findall(r"\]\(([^)#\s]+)", page.read_text())
    return {(page.parent / link).resolve() for link in found if "://" not in link}


def schemes():
    """The file of each scheme."""
    for registry, pattern in REGISTRIES.items():
        folder = (TRANSPORT / registry).parent
        names = re.findall(pattern, (TRANSPORT / registry).read_text(), re.M)
        assert len(names) > 1, f"{registry} lists none"
        for name in names:
            yield next(path for path in (folder / f"{name}.rs", folder / name / "mod.rs") if path.is_file())


def page_of(path):
    found = re.search(r"(?m)^//! Its page: `(.+)`\.$", path.read_text())
    return found and ROOT / found[1]


def sources(page):
    """The files that the line `Source: ...` of a page links to."""
    line = re.search(r"(?m)^Source: (.+)$", page.read_text())
    return [(page.parent / link).resolve() for link in re.findall(r"\]\(([^)]+)\)", line[1])] if line else []


class Tree(unittest.TestCase):
    def test_it_is_up_to_date(self):
        self.assertTrue(tree.made() == tree.PAGE.read_text(), "run docs/tree.py")

    def test_what_a_newcomer_looks_for_is_two_clicks_from_the_readme(self):
        self.assertIn(tree.PAGE, links(ROOT / "README.md"))
        found = links(tree.PAGE)
        for thing, (path, content) in LOOKED_FOR.items():
            with self.subTest(thing):
                self.assertIn(ROOT / path, found)
                self.assertIn(content, (ROOT / path).read_text())

    def test_a_head_is_one_sentence_without_links_and_not_a_long_one(self):
        with tempfile.TemporaryDirectory(dir=ROOT / "docs") as folder:
            path = pathlib.Path(folder) / "a.rs"
            path.write_text("// Not this.\n//! What [a](b::c) does in 0.5 s, as [`D`]\n//! says. More.\n//!\n//! Rest.\n")
            self.assertEqual(tree.sentence(path), "What a does in 0.5 s, as `D` says")
            for text in ("use a;\n", f"//! {'long ' * 40}.\n"):
                path.write_text(text)
                self.assertRaises(SystemExit, tree.sentence, path)


class Schemes(unittest.TestCase):
    def test_each_scheme_names_its_page_and_the_page_links_back(self):
        for path in schemes():
            with self.subTest(path.relative_to(ROOT)):
                page = page_of(path)
                self.assertTrue(page and page.is_file(), "write `//! Its page: ...` at the end of its head")
                self.assertIn(path, sources(page), f"{page.name}: write `Source: ...` below the title")

    def test_each_source_of_a_page_names_that_page(self):
        for page in sorted((ROOT / "docs/src/schemes").glob("*.md")):
            for path in sources(page):
                self.assertEqual(page_of(path), page, path)


if __name__ == "__main__":
    unittest.main()
