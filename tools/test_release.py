"""Tests of release.py: what it refuses. usage: test_release.py"""
import pathlib
import subprocess
import tempfile
import unittest
import zipfile

import release

NAME = f"farspan-{release.VERSION}-cp311-abi3-manylinux_2_28_x86_64.whl"
INFO = f"farspan-{release.VERSION}.dist-info"
METADATA = "Metadata-Version: 2.4\nName: farspan\nRequires-Dist: rich>=13 ; extra == 'progress'\n"
# Asks for glibc 2.25, which was the first with this function.
SOURCE = "int getentropy(void *, unsigned long); int entropy(void *buffer) { return getentropy(buffer, 1); }"


class Wheels(unittest.TestCase):
    def refusal(self, name=NAME, metadata=METADATA, code="farspan/_farspan.abi3.so", links=("-lc",), licences="jemalloc, zstd, parquet"):
        """What a wheel is refused for, or None."""
        with tempfile.TemporaryDirectory() as folder:
            wheel, library = pathlib.Path(folder, name), pathlib.Path(folder, "library")
            subprocess.run(["cc", "-shared", "-fPIC", "-Wl,--no-as-needed", "-x", "c", "-", "-o", library, *links], input=SOURCE, text=True, check=True)
            with zipfile.ZipFile(wheel, "w") as files:
                files.write(library, code)
                files.writestr(f"{INFO}/METADATA", metadata)
                files.writestr(f"{INFO}/licenses/THIRD-PARTY.txt", licences)
            try:
                release.check_wheel(wheel)
            except SystemExit as refused:
                return str(refused)
        return None

    def test_a_wheel_that_asks_for_little_passes(self):
        self.assertIsNone(self.refusal())

    def test_it_has_the_licences_of_what_is_linked_in(self):
        self.assertIn("lacks licences", self.refusal(licences="zstd"))
        with tempfile.TemporaryDirectory() as folder:
            wheel = pathlib.Path(folder, NAME)
            with zipfile.ZipFile(wheel, "w") as files:
                files.writestr(f"{INFO}/RECORD", f"farspan/__init__.py,sha256=x,1\n{INFO}/RECORD,,\n")
            release.license_wheel(wheel)
            release.license_wheel(wheel)
            with zipfile.ZipFile(wheel) as files:
                record, text = (files.read(f"{INFO}/{name}").decode() for name in ("RECORD", "licenses/THIRD-PARTY.txt"))
        self.assertEqual(record.count("THIRD-PARTY.txt,sha256="), 1)
        self.assertIn(f"{INFO}/RECORD,,", record)
        self.assertIn("Jason Evans", text, "the licence of the C library in a crate")

    def test_its_name_says_abi3_and_an_old_glibc(self):
        for name in (NAME.replace("2_28", "2_34"), NAME.replace("abi3", "cp311"), NAME.replace("manylinux_2_28", "linux")):
            self.assertIn("not abi3 for Python 3.11 and glibc 2.28", self.refusal(name=name))

    def test_it_has_one_library_and_needs_no_package(self):
        self.assertIn("its code is", self.refusal(code="farspan/_farspan.cpython-311.so"))
        self.assertIn("requires", self.refusal(metadata=METADATA + "Requires-Dist: numpy\n"))

    def test_its_code_asks_for_what_manylinux_promises(self):
        self.assertIn("needs ['libz.so.1']", self.refusal(links=("-l:libz.so.1",)))

    def test_its_symbols_are_old(self):
        was, release.GLIBC = release.GLIBC, (2, 24)
        try:
            self.assertIn("asks for glibc 2.25", self.refusal(name=NAME.replace("2_28", "2_24")))
        finally:
            release.GLIBC = was


class Releases(unittest.TestCase):
    def test_a_program_with_an_interpreter_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "is not static"):
            release.check_program("/bin/ls")

    def test_notes_are_those_of_this_version(self):
        changelog = f"# Changelog\n\n## {release.VERSION}\n\n- One [page](docs/a.md).\n\n## 0.0.1\n\n- Old.\n"
        self.assertNotIn("Old", release.notes(changelog))
        with self.assertRaisesRegex(SystemExit, "newest section is 0.0.9"):
            release.notes(changelog.replace(f"## {release.VERSION}", "## 0.0.9"))

    def test_links_are_addresses_once_there_is_one(self):
        was, release.REPOSITORY = release.REPOSITORY, "https://forge.example/farspan"
        try:
            text = release.absolute("[a](docs/a.md) [b](https://b.example) [c](#c)")
        finally:
            release.REPOSITORY = was
        self.assertEqual(text, f"[a](https://forge.example/farspan/blob/v{release.VERSION}/docs/a.md) [b](https://b.example) [c](#c)")


unittest.main(verbosity=0)
