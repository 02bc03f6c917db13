"""What a call asks for, as the native part takes it."""

from __future__ import annotations

import math
import numbers
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from farspan._errors import ScenarioError

# TOML has no larger integers.
LARGEST_SEED = 2**63 - 1

# What the native part calls a scenario that stands in no file.
MAPPING = "<mapping>"


@dataclass(frozen=True)
class Request:
    """A scenario, and what changes it."""

    scenario: str
    text: str | None
    scheme: str | None
    profile: str | None
    seed: int | None
    set: list[str]


Scenario: TypeAlias = str | os.PathLike[str] | Mapping[str, object]


def request(
    scenario: Scenario,
    scheme: str | None,
    profile: str | None,
    seed: int | None,
    set: Mapping[str, object] | None,
) -> Request:
    """Check the types of the arguments that only Python has."""
    if seed is not None:
        seed = whole(seed, 0, LARGEST_SEED, "seed")
    _one(scheme)
    text(scheme, "scheme", 'a name, such as "uno-noec" or "unocc+rps"; farspan.schemes() lists them')
    text(profile, "profile", '"paper" or "artifact"')
    if not isinstance(set, Mapping | None):
        cure = 'give values by path: set={"topology.k": 4}'
        raise ScenarioError(f"{set!r} is not a mapping", argument="set", cure=cure)
    assignments = [f"{_path(path)}={toml(value, path)}" for path, value in (set or {}).items()]
    if isinstance(scenario, Mapping):
        return Request(MAPPING, _document({"name": "scenario"} | dict(scenario)), scheme, profile, seed, assignments)
    if not isinstance(scenario, str | os.PathLike):
        cure = "give the name of a scenario, a file or a mapping; farspan.scenarios() lists the names"
        raise ScenarioError(f"{scenario!r} is not a scenario", argument="scenario", cure=cure)
    return Request(os.fspath(scenario), None, scheme, profile, seed, assignments)


def folder(out: object) -> Path | None:
    """Take a folder for results, or none."""
    if out is None:
        return None
    if not isinstance(out, str | os.PathLike) or "\0" in os.fspath(out):
        raise ScenarioError(f"{out!r} is not a folder", argument="out", cure="give the path of a folder")
    return Path(out)


def _document(scenario: Mapping[str, object]) -> str:
    """Write a scenario as TOML, a line for each key of the top."""
    lines = []
    for key, value in scenario.items():
        if not isinstance(key, str):
            raise ScenarioError(f"{key!r} is not a key", argument="scenario", cure="give keys as text")
        lines.append(f"{_string(key, key)} = {toml(value, key, 'scenario')}\n")
    return "".join(lines)


def whole(value: object, least: int, most: int, argument: str) -> int:
    """Take a whole number in a range, be it Python's or numpy's."""
    number = int(value) if isinstance(value, numbers.Integral) and not isinstance(value, bool) else None
    if number is None or not least <= number <= most:
        cure = f"give an int from {least} to {most}"
        raise ScenarioError(f"{value!r} is not a whole number in range", argument=argument, cure=cure)
    return number


def text(value: object, argument: str, what: str) -> None:
    """Refuse what is neither text nor left out."""
    if value is not None and not isinstance(value, str):
        raise ScenarioError(f"{value!r} is not text", argument=argument, cure=f"give {what}")


def _one(scheme: object) -> None:
    """Refuse several schemes: in text, commas outside brackets part them."""
    several = "," in re.sub(r"\([^()]*\)", "", scheme) if isinstance(scheme, str) else isinstance(scheme, list | tuple)
    if several:
        cure = 'give one, or farspan.sweep({"scenario": ..., "scheme": ["uno", "oscar"]}, out=...), which runs several'
        raise ScenarioError(f"{scheme!r} is several schemes", argument="scheme", cure=cure)


def _path(path: object) -> str:
    if not isinstance(path, str):
        cure = 'give paths as text: set={"topology.k": 4}'
        raise ScenarioError(f"{path!r} is not a path", argument="set", cure=cure)
    if "=" in path:
        cure = 'give the value apart: set={"topology.k": 4}'
        raise ScenarioError('a path has no "="', argument=f"set={{{path!r}: ...}}", cure=cure)
    return path


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _ESCAPES.get(character) or f"\\u{ord(character):04x}"


# Deeper lists and mappings than any scenario has: those that contain themselves have no end.
DEEPEST = 32


def toml(value: object, path: str = "", argument: str = "set", depth: int = 0) -> str:
    r"""Write a Python value as TOML.

    Parameters
    ----------
    value : bool, int, float, str, path, list, tuple or mapping
        The value; scalars of numpy are taken too.
    path : str
        Where it goes, for the error.
    argument : str
        The argument that it comes from, for the error.
    depth : int
        In how many lists and mappings it stands.

    Returns
    -------
    str

    Raises
    ------
    ScenarioError
        If TOML has no such value.

    Examples
    --------
    >>> toml("4ms"), toml(True), toml([0, 4]), toml({"name": "uno"})
    ('"4ms"', 'true', '[0, 4]', '{"name" = "uno"}')
    """
    if depth > DEEPEST:
        cure = "give plain values; does a list or mapping contain itself?"
        problem = f"values are nested more than {DEEPEST} deep"
        raise ScenarioError(problem, argument=argument, key=path or None, cure=cure)
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    match value:
        case bool():
            return "true" if value else "false"
        case numbers.Integral():
            return str(int(value))
        case float() if math.isfinite(value):
            return repr(value)
        case str():
            return _string(value, path, argument)
        case os.PathLike():
            return _string(os.fspath(value), path, argument)
        case Mapping():
            return "{" + ", ".join(_pair(k, v, path, argument, depth + 1) for k, v in value.items()) + "}"
        case Iterable() if not isinstance(value, bytes):
            return "[" + ", ".join(toml(v, path, argument, depth + 1) for v in value) + "]"
    cure = 'give a bool, a number, text such as "4ms" ("off" is a value), a list or a mapping'
    raise ScenarioError(f"{value!r} has no TOML form", argument=argument, key=path or None, cure=cure)


def _pair(key: object, value: object, path: str, argument: str, depth: int) -> str:
    if not isinstance(key, str):
        raise ScenarioError(f"{key!r} is not a key", argument=argument, key=path or None, cure="give keys as text")
    here = f"{path}.{key}" if path else key
    return f"{_string(key, here, argument)} = {toml(value, here, argument, depth)}"


def _string(text: str, path: str, argument: str = "set") -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ScenarioError(f"{text!r} is not Unicode text", argument=argument, key=path or None) from None
    return '"' + re.sub(r'[\\"\x00-\x1f\x7f]', _escape, text) + '"'
