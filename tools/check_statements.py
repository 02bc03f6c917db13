#!/usr/bin/env python3
"""Checks what `experiments/` says that papers state, where the papers are there. A number that is said to stand in a paper's text is found in that
section of it, with its unit. The program itself refuses what has not the form.

usage: check_statements.py [ROOT] [--papers FOLDER]      exit 1: a line a mistake
"""

import argparse
import collections
import pathlib
import re
import sys
import tomllib

from skipped import skipped

PAPERS = {"uno": "000", "proxy": "001", "oscar": "002", "reps": "003", "gemini": "004"}
MOST_WORDS = 4
ROMAN = re.compile(r"^[IVX]+$")


def heading(line):
    """The label of a heading, such as "4.2", "A.1", "IV" or "B", or `None`."""
    line = line.strip().lstrip("#").strip()
    if re.match(r"^\W*abstract\b(\W|$)", line, re.IGNORECASE):
        return "abstract"
    if line.upper() == "APPENDIX":
        return "appendix"
    run_in = re.match(r"^(\d+(?:\.\d+){2,})\.? +[A-Z][^.]{2,60}\. ", line)
    if run_in:  # "5.2.1 Micro-benchmarks. As ..."
        return run_in[1]
    if len(line) > 90 or (line.endswith((".", ",", ";")) and not re.match(r"^\d", line)):
        return None
    found = re.match(r"^((?:\d+|[A-Z])(?:\.\d+)+|\d+|[IVX]+|[A-Z])\.? +[A-Z]", line)
    return found and found[1]


def sections(text):
    """The text of each section by its label, with what stands in its subsections; captions as "figure 3" and "table 1"."""
    found, open_labels, before, roman = collections.defaultdict(list), [], [], None
    for line in text.splitlines():
        caption = re.match(r"^\W*(figure|fig\.?|table) +([0-9]+|[IVX]+)\b", line, re.IGNORECASE)
        if caption:
            kind = "table" if caption[1].lower() == "table" else "figure"
            found[f"{kind} {caption[2]}".lower()].append(line)
        label = None if caption else heading(line)
        if roman and label and re.match(r"^\d", label):
            label = None  # a line of an algorithm, in a paper whose sections have Roman numbers
        if label == "abstract":
            before = open_labels
        elif open_labels == ["abstract"] and re.match(r"^(Keywords|CCS Concepts)\b", line.strip(), re.IGNORECASE):
            open_labels = before  # a front page whose abstract stands after the first lines of section 1
        if line.strip().lstrip("#").strip().upper() == "REFERENCES":
            open_labels = []
        if label:
            if ROMAN.match(label) and (roman or label == "I") and not (label in "CDLM"):
                roman, open_labels = label, [label]
            elif label == "appendix":
                roman, open_labels = roman and "appendix", ["appendix"]
            elif roman and re.match(r"^[A-Z]$", label):
                # Sections are cited as "IV-B", and an appendix as "appendix B".
                open_labels = [roman, f"{roman}{' ' if roman == 'appendix' else '-'}{label}"]
            else:
                parts = label.split(".")
                open_labels = [".".join(parts[:n]) for n in range(1, len(parts) + 1)]
        for one in open_labels:
            found[one.lower()].append(line)
    # A table has its body after its caption.
    lines = text.splitlines()
    for at, line in enumerate(lines):
        caption = re.match(r"^\W*table +([0-9]+|[IVX]+)\b", line, re.IGNORECASE)
        if caption:
            found[f"table {caption[1]}".lower()] += lines[max(at - 12, 0) : at + 25]
    return {label: "\n".join(part) for label, part in found.items()}


def plain(text):
    """Without the marks of mathematics and with one kind of dash."""
    text = re.sub(r"\\(?:text|mathrm|,|;|~)", " ", text.replace("\\times", "×"))
    return re.sub(r"[ \t\n]+", " ", re.sub(r"[${}\\~]", "", text.replace("–", "-").replace("−", "-").replace(",000", "000")))


# How papers write a unit, up to so many characters behind the number: "10-42%", "3, 2 and 6 times".
FAR = 25
UNITS = {
    "%": "%|percent",
    "x": r"x\b|X\b|×|times|fold",
    "ns": "ns|nanosec",
    "us": r"us\b|µ ?s|μ ?s|mu ?s|microsec",
    "ms": "ms|millisec",
    "s": r"s\b|sec",
    "B": r"B\b|bytes",
    "KB": "KB|kB",
    "MB": "MB|MiB",
    "GB": "GB|GiB",
    "Mb/s": "[Mm]bps|Mb/s|Mbit/s",
    "Gb/s": "Gbps|Gb/s|Gbit/s|G\\b",
    "Tb/s": "Tbps|Tb/s|Tbit/s",
}


def stands_in(text, printed, in_table=False):
    """Whether the number stands there, and its unit behind it."""
    number, unit = re.match(r"^(-?[\d.]+(?:e-?\d+)?) ?(.*)$", printed).groups()
    if "e" in number:
        digits, power = number.split("e")
        return re.search(rf"(?<![\d.]){re.escape(digits)} ?[×x] ?10\^? ?{power}", plain(text)) is not None
    # The columns of a table have their unit in its head.
    after = rf"(?:[^.;]|\.\d){{0,{FAR}}}?(?:{UNITS[unit]})" if unit and not in_table else ""
    return re.search(rf"(?<![\d.]){re.escape(number)}(?![\d]|\.\d){after}", plain(text)) is not None


def values(paper):
    return list(paper.values()) if isinstance(paper, dict) else [] if paper is None else [paper]


class Checker:
    def __init__(self, root, papers):
        self.root, self.mistakes, self.counts = root, [], collections.Counter()
        self.papers = {}
        for paper, number in PAPERS.items():
            files = sorted(papers.glob(f"{number}_*.txt")) if papers else []
            if files:
                self.papers[paper] = sections(files[0].read_text())

    def wrong(self, where, what):
        self.mistakes.append(f"{where}: {what}")

    def statement(self, paper, name, one, keys):
        """`keys` are the arms, cases and CASE/ARM of the files of its claims."""
        if isinstance(one.get("paper"), dict) and keys:
            for key in set(one["paper"]) - keys:
                self.wrong(name, f"`paper` has {key!r}, which is no arm, case or CASE/ARM of its claims")
        if len(one.get("words", "").split()) > MOST_WORDS:
            self.wrong(name, f"`words` has more than {MOST_WORDS} words")
        self.counts[paper, "statements"] += 1
        self.counts[paper, "with a number"] += "paper" in one
        self.counts[paper, "without claims"] += "not_run" in one
        if (texts := self.papers.get(paper)) is not None:
            self.in_text(texts, name, one)

    def in_text(self, texts, name, one):
        section = one["section"].lower()
        if section not in texts:
            self.wrong(name, f"the paper has no section {section!r}; it has {', '.join(texts)}")
            return
        if one["source"] != "text":
            return
        if "words" in one and plain(one["words"]).lower() not in plain(texts[section]).lower():
            self.wrong(name, f"{one['words']!r} does not stand in {section}")
        missing = [value for value in values(one.get("paper")) if not stands_in(texts[section], value, section.startswith("table"))]
        # Words stand for one number.
        for value in missing[1 if "words" in one else 0 :]:
            self.wrong(name, f"{value!r} does not stand in {section}")

    def paper(self, paper):
        folder, statements, keys = self.root / "experiments" / paper, {}, collections.defaultdict(set)
        files = [folder / "statements.toml", *sorted(folder.glob("*/claims.toml"))]
        for file in filter(pathlib.Path.exists, files):
            document, where = tomllib.loads(file.read_text()), file.relative_to(self.root)
            own = "statements" if file.name == "statements.toml" else file.parent.name
            for one in document.get("statement", []):
                statements[f"{own}/{one['id']}"] = (f"{where}: statement {one['id']!r}", one)
            arms = [arm["name"] for arm in document.get("arm", [])]
            cases = [case["name"] for case in document.get("case", [{"name": "default"}])]
            for claim in document.get("claim", []):
                key = claim["statement"] if "/" in claim["statement"] else f"{own}/{claim['statement']}"
                keys[key] |= {*arms, *cases, *(f"{case}/{arm}" for case in cases for arm in arms)}
            self.counts[paper, "claims"] += len(document.get("claim", []))
            self.counts[paper, "checks"] += len(document.get("check", []))
        for key, (name, one) in statements.items():
            self.statement(paper, name, one, keys.get(key, set()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=here)
    parser.add_argument("--papers", type=pathlib.Path, default=here.parent / "shared/papers")
    parser.add_argument("--only", choices=sorted(PAPERS), help="one paper")
    options = parser.parse_args()
    checker = Checker(options.root.resolve(), options.papers if options.papers.is_dir() else None)
    for paper in [options.only] if options.only else PAPERS:
        checker.paper(paper)
    print("\n".join(checker.mistakes))
    for paper in PAPERS:
        parts = ", ".join(f"{count} {what}" for (of, what), count in sorted(checker.counts.items()) if of == paper)
        if parts:
            print(f"{paper}: {parts}")
    if not checker.papers:
        skipped("papers", "no number was looked up in the text of a paper: give their folder by --papers")
    return 1 if checker.mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
