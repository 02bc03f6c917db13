#!/usr/bin/env python3
"""Tests of check_statements.py: what it must refuse."""

import pathlib
import tempfile
import unittest

from check_statements import Checker, sections, stands_in

PAPER = """Abstract
We gain 12% over all.

1 Introduction
Rivals take 5.3\\times as long, in rare cases 80 or more. It takes 3 ms.

4.2 Oversubscribed Networks
REPS is 10% faster. A range is 10-42% here.

Table 1: losses
944  936
"""
GOOD = """
[[arm]]
name = "reps"
[[statement]]
id = "faster"
text = "REPS is faster."
source = "text"
section = "4.2"
place = "paragraph 1"
paper = "10%"
comparison = "lower"
[[claim]]
id = "mean"
statement = "faster"
rule = "factor"
"""


def mistakes(text):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        figure = root / "experiments/reps/fig3"
        figure.mkdir(parents=True)
        (figure / "claims.toml").write_text(text)
        (root / "003_paper.txt").write_text(PAPER)
        checker = Checker(root, root)
        checker.paper("reps")
        return checker.mistakes


class Tests(unittest.TestCase):
    def test_sections_have_their_text_alone(self):
        found = sections(PAPER)
        self.assertIn("12%", found["abstract"])
        self.assertNotIn("12%", found["1"])
        self.assertIn("10%", found["4"], "a section has its subsections")
        self.assertIn("936", found["table 1"])

    def test_sections_with_roman_numbers_have_subsections_and_appendices(self):
        found = sections("I. INTRODUCTION\none\nII. DESIGN\ntwo\nA. Goals\nthree\nAPPENDIX\nfour\nA. Proof\nfive\nB. Proof of fairness\nsix\nREFERENCES\n7%\n")
        self.assertEqual(list(found), ["i", "ii", "ii-a", "appendix", "appendix a", "appendix b"])
        self.assertIn("three", found["ii"])
        self.assertIn("six", found["appendix b"])
        self.assertNotIn("six", found["appendix a"])
        self.assertNotIn("7%", found["appendix b"], "references are of no section")

    def test_a_number_stands_there_with_its_unit(self):
        text = sections(PAPER)["1"]
        self.assertTrue(stands_in(text, "5.3x"))
        self.assertTrue(stands_in(text, "3 ms"))
        for absent in ("5x", "3x", "80%", "3 us", "5.3 ms"):
            self.assertFalse(stands_in(text, absent), absent)
        self.assertTrue(stands_in(sections(PAPER)["4.2"], "42%"))
        self.assertTrue(stands_in(sections(PAPER)["4.2"], "10%"))

    def test_what_is_right_is_no_mistake(self):
        self.assertEqual(mistakes(GOOD), [])

    def test_each_mistake_is_named(self):
        for old, new, named in [
            ('paper = "10%"', 'paper = "11%"', "does not stand in 4.2"),
            ('section = "4.2"', 'section = "9"', "no section"),
            ('paper = "10%"', 'paper = { rep = "10%" }', "no arm, case"),
            ('comparison = "lower"', 'comparison = "lower"\nwords = "a tenth"', "does not stand in 4.2"),
            ('comparison = "lower"', 'comparison = "lower"\nwords = "a tenth of all of it"', "more than 4 words"),
        ]:
            self.assertIn(old, GOOD)
            found = " ".join(mistakes(GOOD.replace(old, new)))
            self.assertIn(named, found, new)


if __name__ == "__main__":
    unittest.main()
