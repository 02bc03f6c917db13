#!/usr/bin/env python3
"""Builds and uses the Python package of a control in a crate of its own. `farspan new --control` writes the crate, pip builds its wheel, and farspan in
Python knows the control by its name, in runs, in the processes of a sweep, and in the command.

usage: run.py FARSPAN PYTHON     the command, and a Python with the package farspan of this checkout and maturin
It builds for minutes where nothing is built yet: CARGO_TARGET_DIR, by default the checkout's target, keeps it.
exit 1: something of it does not hold
"""

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PLACE = ROOT / "out/wheel"
PROGRAM = """
import my_own as fs
if __name__ == "__main__":
    small = {"workload.flow_size": "64KiB"}
    run = fs.run("uno/incast-mixed", scheme="my-own", set=small)
    print(run)
    swept = fs.sweep({"scenario": "uno/incast-mixed", "scheme": ["my-own", "uno"], "grid": {"workload.flow_size": ["64KiB"]}}, out="sizes", progress=False)
    print(swept)
    assert not swept.failed
    assert [row["scheme"] for row in swept.rows] == ["my-own", "uno"]
    import farspan
    assert farspan.run is fs.run
    print(fs.run("uno/incast-mixed", scheme="my-own/uno", set={**small, "scheme.intra.congestion.cut": 0.3}))
"""


def run(*words, **options):
    print("+", *words, flush=True)
    return subprocess.run([str(word) for word in words], check=True, **options)


def main(farspan, python):
    farspan, python = pathlib.Path(farspan).absolute(), pathlib.Path(python).absolute()
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    os.environ.setdefault("CARGO_TARGET_DIR", str(ROOT / "target"))
    # The backend is the one that is there: nothing is fetched.
    os.environ["PATH"] = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    run(farspan, "new", "--control", "my-own", PLACE / "my-own", "--farspan", ROOT)
    run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", PLACE, PLACE / "my-own")
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", *PLACE.glob("*.whl"))
    (PLACE / "use.py").write_text(PROGRAM)
    run(python, "use.py", cwd=PLACE)
    run(python, "-m", "my_own", "run", "uno/incast-mixed", "--scheme", "my-own", "--set", "workload.flow_size=64KiB", cwd=PLACE)
    late = subprocess.run([str(python), "-c", "import farspan, my_own"], capture_output=True, text=True, cwd=PLACE, check=False)
    if "import my_own before it" not in late.stderr.replace("my-own", "my_own"):
        sys.exit(f"imported behind farspan it says: {late.stderr}")
    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "my-own")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
