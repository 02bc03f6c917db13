"""The plumbing of a study: its command line, its runs, the numbers that it keeps beside its script, and its parts of a page."""
import __main__
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
BOOK = HERE.parent / "docs/src"
END = "<!-- to here -->\n"


def arguments(*, optional=False, **defaults):
    """The command line of the script: the program, and an option for each default. A default of False makes a flag, a tuple the choices."""
    parser = argparse.ArgumentParser(description=__main__.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    program = lambda word: str(pathlib.Path(shutil.which(word) or word).absolute())
    parser.add_argument("farspan", type=program, nargs="?" if optional else None)
    for name, default in defaults.items():
        how = {"choices": default, "default": default[0]} if isinstance(default, tuple) else {"type": type(default), "default": default}
        how = {"action": "store_true"} if default is False else how
        parser.add_argument(f"--{name}", **how)
    return parser.parse_args()


def words(settings):
    """Settings as words of a command."""
    return [word for setting in settings for word in ("--set", setting)]


def run(farspan, scenario, *more, settings=(), timeout=None):
    """A run that has ended. The scenario is a built-in one, a file, or the lines of one."""
    with tempfile.TemporaryDirectory() as folder:
        if "\n" in str(scenario):
            file = pathlib.Path(folder) / "scenario.toml"
            file.write_text(scenario)
            scenario = file
        command = [farspan, "run", scenario, "--quiet", *more, *words(settings)]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, timeout=timeout)


def checked(done):
    """The same run. The script ends with the run's message if it failed."""
    if done.returncode != 0:
        sys.exit(f"{' '.join(done.args)}: {done.stderr}")
    return done


def document(farspan, scenario, *more, settings=()):
    """The document of a run."""
    return json.loads(checked(run(farspan, scenario, "--json", *more, settings=settings)).stdout)


def result_tables(farspan, scenario, *more, names, settings=()):
    """Tables among the results of a run, by name. Needs pyarrow."""
    import pyarrow.parquet  # noqa: PLC0415 the check needs none

    with tempfile.TemporaryDirectory() as folder:
        checked(run(farspan, scenario, "--out", folder, "--force", *more, settings=settings))
        return [pyarrow.parquet.read_table(pathlib.Path(folder) / f"{name}.parquet") for name in names]


def each(options, run_case, cases):
    """The name of each case and the result of `run_case`, in order. `run_case` takes the program, then the values of the case."""

    def named(name):
        try:
            return run_case(options.farspan, *cases[name])
        except SystemExit as failed:
            sys.exit(f"{name}: {failed}")

    with ThreadPoolExecutor(options.jobs) as pool:
        yield from zip(cases, pool.map(named, cases), strict=True)


def as_json(value, levels=1, sort=False):
    """JSON with a line for each item of the outer levels."""

    def lines(value, levels):
        if levels == 0 or not isinstance(value, (dict, list)) or not value:
            return json.dumps(value, sort_keys=sort)
        if isinstance(value, list):
            return "[\n" + ",\n".join(lines(item, levels - 1) for item in value) + "\n]"
        items = sorted(value.items()) if sort else value.items()
        return "{\n" + ",\n".join(f"{json.dumps(key)}: {lines(item, levels - 1)}" for key, item in items) + "\n}"

    return lines(value, levels) + "\n"


def table(head, rows, rule=" --- "):
    """A table in Markdown."""
    line = lambda cells: f"| {' | '.join(map(str, cells))} |\n"
    return line(head) + f"|{rule}" * len(head) + "|\n" + "".join(map(line, rows))


class Study:
    """A script that keeps numbers in a JSON file beside it, and writes parts of a page of the book from them. `levels`: how many outer
    levels of the file have a line for each item."""

    def __init__(self, script, page=None, levels=1, sort=False):
        self.file = pathlib.Path(script).resolve().with_suffix(".json")
        self.page, self.levels, self.sort = page and BOOK / page, levels, sort

    def kept(self, is_first=False):
        """The numbers. Only the first measurement may find none."""
        if is_first and not self.file.exists():
            return {}
        if not self.file.exists():
            sys.exit(f"bench/{self.file.name} is missing: run bench/{self.file.stem}.py with the program")
        return json.loads(self.file.read_text())

    def keep(self, numbers):
        """Keeps the numbers. The file is whole at any time."""
        partial = self.file.with_suffix(".partial")
        partial.write_text(as_json(numbers, self.levels, self.sort))
        partial.rename(self.file)

    def write(self, parts, check):
        """Puts each text in its part of the page. If `check` is set and another text is there, ends with a message instead."""
        text = made = self.page.read_text()
        for part, new in dict(parts).items():
            begin = f"<!-- from: bench/{self.file.stem}.py{part and ' '}{part} -->\n"
            before, rest = made.split(begin, 1)
            made = before + begin + new + END + rest.split(END, 1)[1]
        if made != text:
            if check:
                sys.exit(f"{self.page.name} is not what bench/{self.file.name} gives: run bench/{self.file.stem}.py")
            self.page.write_text(made)

    def main(self, measure, parts, **defaults):
        """If the command line names a program, `measure` runs it, and its numbers are kept. `parts` makes the parts of the page from
        the kept numbers; they are written, or compared."""
        options = arguments(optional=True, jobs=2, check=False, **defaults)
        if options.farspan:
            self.keep(measure(options))
        self.write(parts(self.kept()), options.check)
        return options

    def measure_first(self, measure, parts, usage, *flags):
        """The same for a script whose numbers depend on the machine: they are kept only with the last flag, `--keep`. `usage` is printed
        where flags exclude each other."""
        options = arguments(optional=True, check=False, **dict.fromkeys(flags, False))
        given = [flag for flag in flags if getattr(options, flag)]
        if len(given) > 1 or options.check and options.farspan or given and not options.farspan:
            sys.exit(usage)
        if options.farspan:
            numbers = measure(options)
            if not options.keep:
                return
            self.keep(numbers)
        self.write(parts(self.kept()), options.check)
