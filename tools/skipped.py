"""Says that something is skipped because a tool or a right is missing. With FARSPAN_TESTS=must it fails instead, unless the words of
FARSPAN_MAY_SKIP hold the name. A file that FARSPAN_SKIPPED names gets a line. `farspan_skip::skip` does the same in Rust.

usage: skipped.py NAME WHY     NAME: what is missing; WHY: the reason, with a cure
"""
import os
import sys


def skipped(name: str, why: str) -> None:
    """Returns where skipping is allowed; ends the process elsewhere."""
    text = f"{name}: {' '.join(why.split())}"
    is_listed = name in os.environ.get("FARSPAN_MAY_SKIP", "").split()
    if os.environ.get("FARSPAN_TESTS") == "must" and not is_listed:
        sys.exit(f"not tested: {text}\nFARSPAN_TESTS=must makes this a failure")
    print(f"SKIPPED: {text}", flush=True)
    if path := os.environ.get("FARSPAN_SKIPPED"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{text}\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    skipped(*sys.argv[1:])
