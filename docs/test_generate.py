"""A constant that changes in a profile changes its row of the deviations, and no other.

usage: test_generate.py FARSPAN-LAB
"""
import subprocess
import sys

from generate import differing

CHANGES = [
    # One that differs already, and one that did not.
    ("| `dead_band` | `0ns` | OSCAR, algorithm 2 | `500ns` | published code |", "`500ns`", "`700ns`"),
    ("| `hyper_increase` | `0.01` | OSCAR, table 4 |  |  |", "|  |  |", "| `0.02` | a test |"),
]


def main(binary):
    shown = subprocess.run([binary, "reference", "oscar"], check=True, capture_output=True, text=True).stdout
    before = list(differing(shown))
    for line, old, new in CHANGES:
        if line not in shown:
            sys.exit(f"docs/test_generate.py: `reference oscar` has no such line any more; name another constant: {line}")
        after = list(differing(shown.replace(line, line.replace(old, new))))
        moved = [row for row in after if row not in before]
        key = line.split("`")[1]
        if [row[1] for row in moved] != [f"`{key}`"] or new.split("`")[1] not in moved[0][4]:
            sys.exit(f"docs/test_generate.py: `{key}` changed, and the rows that moved are {moved}")


if __name__ == "__main__":
    main(sys.argv[1])
