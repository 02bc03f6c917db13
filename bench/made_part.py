"""The part of a page that a script makes, between its marks."""
import sys

END = "<!-- to here -->\n"


def table(head, rows):
    """A table in Markdown."""
    return "".join(f"| {' | '.join(row)} |\n" for row in [head, ["---"] * len(head), *rows])


def write(page, script, table, check, part=""):
    """Puts the table of bench/SCRIPT.py in its part of the page, of several in that of a name; or ends with a message if another
    stands there and `check` is set."""
    begin = f"<!-- from: bench/{script}.py{part and ' '}{part} -->\n"
    text = page.read_text()
    before, rest = text.split(begin, 1)
    made = before + begin + table + END + rest.split(END, 1)[1]
    if check and made != text:
        sys.exit(f"{page.name} is not what bench/{script}.json gives: run bench/{script}.py")
    page.write_text(made)
