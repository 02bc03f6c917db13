"""Each lint finds what it is there for, and lets pass what looks like it."""
import unittest

import lint
import rust_source


def found(check, path, source):
    return [(line, what.split(":")[0]) for line, what in check(path, source)]


class Sizes(unittest.TestCase):
    def test_a_long_function_is_found_and_one_of_eighty_lines_is_not(self):
        for lines, findings in ((80, []), (81, [(2, "long")])):
            source = "# a file\ndef long():\n" + "    step()\n" * (lines - 1)
            self.assertEqual(found(lint.sizes, "tools/b.py", source), findings)

    def test_a_docstring_is_not_counted(self):
        source = 'def long():\n    """Text.\n' + "    more\n" * 90 + '    """\n    step()\n'
        self.assertEqual(found(lint.sizes, "tools/b.py", source), [])

    def test_lines_count_up_to_the_tests(self):
        source = "// a line\n" * 500 + "#[cfg(test)]\nmod tests {\n" + "// a line\n" * 100 + "}\n"
        self.assertEqual(found(lint.sizes, "crates/a/src/b.rs", source), [])
        self.assertEqual(found(lint.sizes, "crates/a/src/b.rs", "// a line\n" + source), [(501, "a file of 501 lines before tests")])
        self.assertEqual(found(lint.sizes, "crates/a/tests/b.rs", "// a line\n" * 501), [])


class FirstPages(unittest.TestCase):
    def test_a_sentence_of_thirty_words_passes_and_a_longer_one_does_not(self):
        for words, findings in ((30, []), (31, [(3, "a sentence of 31 words")])):
            source = "# Title\n\n" + "word " * (words // 2) + "\n" + "word " * (words - words // 2 - 1) + "word.\n"
            self.assertEqual(found(lint.sentences, "README.md", source), findings)
            self.assertEqual(found(lint.sentences, "docs/src/speed.md", source), [])

    def test_code_made_parts_cells_and_items_are_no_sentences_of_their_neighbours(self):
        long = "word " * 20
        for source in (f"```sh\n{long}{long}\n```", f"<!-- made: x -->\n\n{long}{long}\n<!-- end -->\n", f"- {long}\n- {long}", f"| {long}| {long}|"):
            self.assertEqual(found(lint.sentences, "README.md", source), [])

    def test_a_number_is_found_outside_code_links_and_made_parts_alone(self):
        self.assertEqual(found(lint.typed, "README.md", "a\n\n| it takes 7 s | b |"), [(3, "7")])
        for source in ("`--seeds 1..6`", "[a](x/fig10.md)", "<!-- made: x -->\n\n7\n<!-- end -->\n", "    run 7"):
            self.assertEqual(found(lint.typed, "README.md", source), [])


class Words(unittest.TestCase):
    def names(self, path, source):
        return [what for _, what in found(lint.words, path, source)]

    def test_types_functions_fields_variants_and_modules_are_looked_at(self):
        source = "struct FluidPort { pub(crate) fluid_rate: u32, other: Vec<u8> }\nenum Kind { Fluid(u32), Other }\nconst fn run_fluid() {}\nmod fluid;"
        names = ["struct FluidPort", "field fluid_rate", "variant Fluid", "fn run_fluid"]
        self.assertEqual(self.names("crates/sim/src/b.rs", source), names)
        self.assertEqual(self.names("crates/sim/src/fluid.rs", ""), ["module fluid"])

    def test_tests_text_comments_and_parts_of_words_pass(self):
        source = '#[test]\nfn a_fluid_port_is_quick() {}\n// fluid\nconst TEXT: &str = "fn fluid() {}";\nfn fluidity() { let fluid = 1; }'
        self.assertEqual(self.names("crates/sim/src/b.rs", source), [])

    def test_a_word_is_refused_only_where_it_has_the_sense_of_the_list(self):
        self.assertEqual(self.names("crates/sim/src/b.rs", "struct Turns;"), ["struct Turns"])
        self.assertEqual(self.names("crates/workload/src/b.rs", "struct Turns;"), [])
        self.assertEqual(self.names("crates/transport/src/receiver/bitmap.rs", "struct Bitmap { words: Vec<u64> }"), [])

    def test_every_entry_of_the_list_refuses_its_words(self):
        for entry in lint.WORDS["word"]:
            for now in entry["now"]:
                path = entry.get("only", ["crates/a/src/*"])[0].replace("*", "/b.rs")
                self.assertIsNotNone(lint.refused(path, now.lstrip("=")), now)


class Text(unittest.TestCase):
    def test_jargon_is_found_in_pages_and_comments_and_not_in_code(self):
        self.assertEqual(found(lint.jargon, "docs/src/a.md", "one\na fluid port"), [(2, "fluid")])
        self.assertEqual(found(lint.jargon, "crates/a/src/b.rs", "let fluid = 1; // a calm port"), [(1, "calm")])
        self.assertEqual(found(lint.jargon, "README.md", "`cargo test`, Cargo.toml, fluidity"), [])

    def test_a_doc_comment_stands_alone(self):
        source = "/// The same as above.\nfn a() {}\n//! What is here.\n/// A sum.\n/// What else it is.\n// What a plain comment says.\n"
        self.assertEqual([line for line, _ in lint.comments("crates/a/src/b.rs", source)], [1, 3])

    def test_a_comment_begins_with_its_subject(self):
        source = "/// Of a port.\nfn a() {}\n//! By host: its bytes.\n/// Bytes\n/// of it. So many.\n///\n/// So much.\n/// Often.\n"
        source += "a(); // So\n// So it is.\n// By it.\n#[test]\n// Of it.\n# Of it.\n/* Of it. */\n"
        self.assertEqual([line for line, _ in lint.comments("crates/a/src/b.rs", source)], [1, 3, 7, 10, 13, 15])
        for path in ("bench/b.py", "Cargo.toml", ".ci/run"):
            self.assertEqual([line for line, _ in lint.comments(path, "a\n# Of it.\n# By it.\n#\n# So it is.\n// Of it.\n# Often\n")], [2, 5])
        self.assertEqual([*lint.comments("docs/src/a.md", "# Of it\n")], [])


class Unfilled(unittest.TestCase):
    def test_a_mark_that_stands_for_a_table_is_found_in_pages_only(self):
        for line in ("TABLE", "@@TABLE swift@@", " @@x@@"):
            self.assertEqual(found(lint.unfilled, "docs/src/a.md", f"one\n{line}\n"), [(2, line.strip())])
            self.assertEqual(found(lint.unfilled, "crates/a/src/a.rs", f"one\n{line}\n"), [])
        self.assertEqual(found(lint.unfilled, "docs/src/a.md", "a TABLE of two\n| @@ | x |\n"), [])


class Arrows(unittest.TestCase):
    ALLOWED = {
        "dependencies": {"a": [], "b": ["a"], "c": ["b"]},
        "dev-dependencies": {"a": ["c"]},
        "never": {"c": ["d"]},
    }

    def found(self, **manifests):
        """Findings in manifests, which are given by crate."""
        tables = {f"crates/{crate}/Cargo.toml": text for crate, text in manifests.items()}
        return [(path.split("/")[1], line, what) for path, line, what in lint.arrows(tables, self.ALLOWED)]

    def test_an_arrow_that_is_not_allowed_is_found_of_any_kind_and_target(self):
        for table in ("[dependencies]", "[target.'cfg(unix)'.dependencies]"):
            for other in ("farspan-c.workspace = true", 'farspan-c = { path = "../c", optional = true }'):
                found = self.found(b=f"{table}\nfarspan-a.workspace = true\n{other}\n")
                self.assertEqual(found, [("b", 3, "b may not depend on c ([dependencies] of tools/arrows.toml)")])
        found = self.found(c="[dependencies]\nfarspan-b = '1'\n[dev-dependencies]\nfarspan-a = '1'\n")
        self.assertEqual(found, [("c", 4, "c may not depend on a ([dev-dependencies] of tools/arrows.toml)")])

    def test_what_is_allowed_and_what_others_make_pass(self):
        self.assertEqual(self.found(a="[dependencies]\nserde = '1'\n[dev-dependencies]\nfarspan-c = '1'\n"), [])
        self.assertEqual(self.found(c="[dependencies]\nfarspan-b = '1'\n[dev-dependencies]\nfarspan-b = '1'\n"), [])
        self.assertEqual(list(lint.arrows({"examples/x/Cargo.toml": "[dependencies]\nfarspan-a = '1'\n"}, self.ALLOWED)), [])

    def test_an_arrow_that_is_allowed_in_vain_and_a_crate_without_a_line_are_found(self):
        self.assertEqual([what.split(":")[0] for *_, what in self.found(b="")], ["b does not depend on a"])
        self.assertEqual(self.found(d=""), [("d", 1, "d has no line in tools/arrows.toml")])

    def test_what_a_crate_must_not_see_is_found_through_others(self):
        found = self.found(c="[dependencies]\nfarspan-b = '1'\n", b="[dependencies]\nfarspan-a = '1'\nfarspan-d = '1'\n")
        self.assertIn(("c", 1, "c sees d, through others"), found)

    def test_the_table_has_no_circle(self):
        table = {crate: set(others) for crate, others in lint.ARROWS["dependencies"].items()}
        for crate in table:
            self.assertNotIn(crate, lint.reached(table, crate))
        for crate, others in lint.ARROWS["never"].items():
            self.assertFalse(lint.reached(table, crate) & set(others), crate)


class Homonyms(unittest.TestCase):
    def found(self, **sources):
        """The definitions refused in files, by their names under `crates/a/`; `__` is a slash."""
        files = {f"crates/a/{path.replace('__', '/')}.rs": source for path, source in sources.items()}
        return [(path.removeprefix("crates/a/"), line) for path, line, _ in lint.homonyms(files)]

    def test_two_types_of_one_name_are_found_whatever_their_kind(self):
        for other in ("enum Shape {}", "pub(crate) trait Shape {}", "pub type Shape = u8;", "macro_rules! m { () => { struct Shape; } }"):
            self.assertEqual(self.found(src__b="struct Shape;", src__c=f"// a file\n{other}"), [("src/b.rs", 1), ("src/c.rs", 2)])

    def test_other_names_and_other_crates_pass(self):
        self.assertEqual(self.found(src__b="struct Shape;", src__c="struct Shapes; use b::Shape; const SHAPE: u8 = 1;"), [])
        files = {f"crates/{crate}/src/b.rs": "struct Shape;" for crate in ("a", "b")}
        self.assertEqual(list(lint.homonyms(files)), [])

    def test_associated_types_pass(self):
        traits = "trait Node {\n    type Shape;\n}\nimpl Node for A {\n    type Shape = B;\n}\nimpl Node for B {\n    type Shape = A;\n}\n"
        self.assertEqual(self.found(src__b=traits + "struct Shape;"), [])

    def test_tests_pass(self):
        source = "struct Shape;\n#[cfg(test)]\nmod tests {\n    struct Shape;\n}\n"
        self.assertEqual(self.found(src__b=source, tests__b=source, examples__b=source, src__b__tests=source), [])
        for where in ("src__c__bench", "src__c__bench__mod", "src__c__bench__more"):
            sources = {"src__b": "struct Shape;", "src__c__mod": "#[cfg(test)]\npub(crate) mod bench;\nfn run() {}", where: "struct Shape;"}
            self.assertEqual(self.found(**sources), [])
            sources["src__c__mod"] = "mod bench;"
            self.assertEqual(len(self.found(**sources)), 2)


class Undeclared(unittest.TestCase):
    def found(self, **sources):
        files = {f"crates/a/{path.replace('__', '/')}.rs": source for path, source in sources.items()}
        return [path.removeprefix("crates/a/") for path, *_ in lint.undeclared(files)]

    def test_a_file_that_no_module_declares_is_found(self):
        for orphan in ("src__b", "src__b__mod", "src__c__b", "tests__all__b", "tests__all__b__mod", "src__c__tests__b"):
            sources = {"src__lib": "mod c;", "src__c": "// mod\n", "tests__all__main": "fn main() {}", orphan: "fn run() {}"}
            self.assertEqual(self.found(**sources), [orphan.replace("__", "/") + ".rs"])

    def test_roots_and_declared_files_pass(self):
        self.assertEqual(self.found(src__lib="pub mod b;", src__b__mod="mod c;", src__b__c="mod d;", src__b__c__d="", build="", tests__t=""), [])
        self.assertEqual(self.found(tests__all__main='#[path = "../common/x.rs"]\nmod x;', tests__common__x="mod y;", tests__common__x__y=""), [])


class Wildcards(unittest.TestCase):
    def found(self, source, path="crates/a/src/b.rs"):
        registry = "controls! {\n    Fast, fast::{FastConfig, FastParams}, \"fast\",\n        \"Runs\", \"a paper\";\n}\n"
        files = {"crates/transport/src/congestion/controls/mod.rs": registry, path: source}
        return [line for _, line, _ in lint.wildcards(files)]

    def test_an_arm_for_all_others_is_found_whatever_it_is_called(self):
        for enum in ("CongestionConfig::Fast(_)", "Self::Fast(config)", "TelemetryKind::Int", "(value::Telemetry::None, 1)"):
            for other in ("_", "other", "(_, _)", "_ if x > 1", "a | b"):
                source = f"fn f() {{\n    match x {{\n        {enum} => {{ g(1, 2) }}\n        {other} => (3, 4),\n    }}\n}}"
                self.assertEqual(self.found(source), [4], source)

    def test_variants_of_telemetry_and_other_names_of_the_enums_are_found(self):
        kinds = {"crates/units/src/telemetry.rs": 'telemetry_kinds! {\n    None, "none", 0;\n    Int, "int", 8;\n}'}
        files = kinds | {"a.rs": "fn f() { match self { Self::Int => 1, _ => 2 } }"}
        self.assertEqual([(path, line) for path, line, _ in lint.wildcards(files)], [("a.rs", 1)])
        for source in ("use units::TelemetryKind::*;", "use units::{Time, TelemetryKind as T};"):
            self.assertEqual(self.found(source), [1], source)
        self.assertEqual(self.found("use units::{Time, TelemetryKind};"), [])

    def test_a_registry_that_moved_is_missed(self):
        self.assertEqual(len([*lint.moved({})]), 2)

    def test_one_variant_alone_is_found(self):
        for test in ("matches!(x.kind, TelemetryKind::Mpd | TelemetryKind::Int)", "if let Self::Fast(fast) = x {}", "if let Some(Control::Fast(_)) = x {}"):
            self.assertEqual(self.found(f"fn f() {{\n    {test}\n}}"), [2], test)
        self.assertEqual(self.found("fn f() {\n    let CongestionConfig::Fast(fast) = x else { return };\n}"), [2])

    def test_all_variants_by_name_and_other_enums_pass(self):
        full = "match kind {\n    TelemetryKind::None => match n { 0 => 1, _ => 2 },\n    TelemetryKind::Mpd | TelemetryKind::Int => 3,\n}"
        self.assertEqual(self.found(f"fn f() {{ {full} }}"), [])
        self.assertEqual(self.found("fn f() { match x { Kind::Fast => 1, _ => Telemetry::MOST_HOPS } }"), [])
        self.assertEqual(self.found("fn f() { if let Some(x) = y { TelemetryKind::Int } else { TelemetryKind::Mpd } }"), [])

    def test_tests_pass(self):
        source = "match x { Control::Fast(_) => 1, _ => 2 }"
        self.assertEqual(self.found(f"#[cfg(test)]\nmod tests {{\n    fn f() {{ {source} }}\n}}"), [])
        self.assertEqual(self.found(f"fn f() {{ {source} }}", path="crates/a/tests/b.rs"), [])


class Imports(unittest.TestCase):
    def found(self, order="low mid high", **sources):
        """The findings in modules of a crate whose modules have an order; `__` is a slash."""
        files = {f"crates/a/src/{path.replace('__', '/')}.rs": source for path, source in sources.items()}
        page = f"```\norder of crates/a/src:\n    {order}\n```\n"
        return [(path.removeprefix("crates/a/src/"), line) for path, line, _ in lint.imports({"ARCHITECTURE.md": page, **files})]

    def test_an_import_that_runs_up_is_found_and_one_that_runs_down_is_not(self):
        modules = {"low": "pub struct A;", "mid": "pub struct B;", "high": "use crate::low::A;\nuse crate::mid::{B, B as C};"}
        self.assertEqual(self.found(**modules), [])
        for source in ("use crate::high::D;", "use crate::{high::{self, D},\n    low};", "fn f() { crate::high::f() }", "use super::high;"):
            line = source.count("\n") + 1 if "fn" in source else 1
            self.assertEqual(self.found(**{**modules, "low": source}), [("low.rs", line)], source)

    def test_what_is_exported_again_is_an_import_from_where_it_is_written(self):
        modules = {"lib": "pub use high::D;\npub use low::A;", "low": "pub struct A;", "mid": "", "high": "mod inner;\npub use inner::D;", "high__inner": "pub struct D;"}
        self.assertEqual(self.found(**{**modules, "mid": "use crate::D;"}), [("mid.rs", 1)])
        self.assertEqual(self.found(**{**modules, "mid": "use crate::A;"}), [])
        globs = {**modules, "high__mod": "mod inner;\npub use inner::*;", "mid": "use crate::high::MadeByAMacro;"}
        del globs["high"]
        self.assertEqual(self.found(**globs), [("mid.rs", 1)])

    def test_modules_inside_a_module_have_an_order_of_their_own(self):
        modules = {"mid__mod": "pub use controls::C;", "mid__contract": "pub struct B;", "mid__controls": "use super::contract::B;\npub struct C;"}
        order = "mid/contract mid/controls mid"
        self.assertEqual(self.found(order, **modules), [])
        modules["mid__contract"] = "use super::controls::C;"
        self.assertEqual(self.found(order, **modules), [("mid/contract.rs", 1)])
        modules["mid__contract"] = "use crate::mid::C;"
        self.assertEqual(self.found(order, **modules), [("mid/contract.rs", 1)])

    def test_tests_comments_and_other_crates_pass(self):
        low = "// use crate::high::D;\nuse std::high::D;\n#[cfg(test)]\nmod tests {\n    use crate::high::D;\n}\n"
        self.assertEqual(self.found(low=low, low__tests="use crate::high::D;", mid="", high="pub struct D;"), [])
        self.assertEqual(self.found(low="#[cfg(test)]\nmod bench;", low__bench="use crate::high::D;", mid="", high=""), [])

    def test_the_order_names_every_module_and_no_other(self):
        self.assertEqual(self.found(low="", mid="", high="", other=""), [("other.rs", 1)])
        self.assertEqual(self.found(low="", mid=""), [("ARCHITECTURE.md", 1)])


class EveryCrate(unittest.TestCase):
    """The crates as they are, with one thing changed in memory."""

    SOURCES = lint.read()
    ORDERS = lint.orders(SOURCES)

    def files(self, root):
        return {path: source for path, source in self.SOURCES.items() if path.startswith(f"{root}/")}

    def test_an_import_from_the_last_module_is_refused_in_the_first(self):
        for root, order in self.ORDERS.items():
            files, low, high = self.files(root), "/".join(order[0]), "::".join(order[-1])
            self.assertEqual([*lint.imports_of(root, order, files)], [], root)
            path = next(path for path in (f"{root}/{low}.rs", f"{root}/{low}/mod.rs") if path in files)
            files[path] = f"use crate::{high};\n{files[path]}"
            self.assertEqual([found[:2] for found in lint.imports_of(root, order, files)], [(path, 1)])

    def test_a_crate_without_an_order_and_a_module_outside_of_it_are_refused(self):
        for root, order in self.ORDERS.items():
            page = self.SOURCES["ARCHITECTURE.md"].replace(f"order of {root}:", "")
            missed = [what for path, _, what in lint.moved({"ARCHITECTURE.md": page, **self.files(root)}) if path == "ARCHITECTURE.md"]
            self.assertEqual(missed, [f"no `order of {root}:`, which the lint of imports reads"])
            new = {f"{root}/new_module.rs": "", **self.files(root)}
            self.assertEqual([found[:2] for found in lint.imports_of(root, order, new)], [(f"{root}/new_module.rs", 1)])


class Source(unittest.TestCase):
    def test_lifetimes_are_no_characters_and_comments_may_hold_quotes(self):
        code = rust_source.blanked("fn a<'a>(x: &'a str) -> &'a str { x } // it's\nfn b() {}")
        self.assertEqual([name for _, name, _ in rust_source.declarations(code)], ["a", "b"])


unittest.main()
