"""Where the processes of a sweep find the classes of its control."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from farspan._errors import ScenarioError
from farspan.control import Control, Controls, classes

# The module of a control that the process of a run imports.
IMPORTED = "farspan_control"


def command(control: Controls) -> tuple[list[str], list[str]]:
    """Give the words that start a run with a control, and the files of its classes and of those above them."""
    found = classes(control)
    words = ["-" if one is None else _place(one) for one in found]
    start = [sys.executable, "-m", "farspan._worker", *words]
    for one, there in zip(found, _as_imported(start), strict=True):
        if one is not None:
            _refuse_changes(one, there)
    above = (cls for one in found if one for cls in one.__mro__ if cls not in Control.__mro__)
    files = (inspect.getsourcefile(cls) for cls in above)
    return start, list(dict.fromkeys(file for file in files if file))


def load(word: str, modules: dict[str, ModuleType]) -> type[Control] | None:
    """Import the class of a word that :func:`command` gave; `modules` are those that were imported so far."""
    if word == "-":
        return None
    path, module, name = word.rsplit(":", 2)
    key = module or path
    if key not in modules:
        sys.path.insert(0, path if module else str(Path(path).parent))
        modules[key] = _package_module(module) if module else _file(path)
    found: Any = modules[key]
    for part in name.split("."):
        found = getattr(found, part)
    return classes({"intra": found})[0]


def attributes(control: type[Control]) -> dict[str, str]:
    """Give what a class and those above it set, as text that is the same in every process that imports its file."""
    found: dict[str, str] = {}
    for cls in control.__mro__:
        if cls in Control.__mro__:
            continue
        for name, value in vars(cls).items():
            text = _function(value)
            if text is None and not (name.startswith("__") or name == "_abc_impl"):
                text = _text(value, cls.__module__)
            if text is not None:
                found.setdefault(f"{cls.__qualname__}.{name}", text)
    return found


def _place(control: type[Control]) -> str:
    """Give a class as a word: path, module of a package, name."""
    try:
        file = inspect.getsourcefile(control)
    except (OSError, TypeError):
        file = None
    if file is None or not Path(file).is_file() or "<locals>" in control.__qualname__:
        problem = f"{control.__qualname__} cannot be imported by other processes"
        raise ScenarioError(problem, argument="control", cure="move the class to the top of a file")
    path, module = Path(file).resolve(), sys.modules.get(control.__module__)
    if module is None or not module.__package__ or not (path.parent / "__init__.py").is_file():
        return f"{path}::{control.__qualname__}"
    # A module of a package imports its neighbours by the package's name. That of `python -m` is called __main__.
    name = module.__spec__.name if module.__spec__ else control.__module__
    depth = name.count(".") + (path.name == "__init__.py")
    return f"{path.parents[depth]}:{name}:{control.__qualname__}"


def _as_imported(start: list[str]) -> list[dict[str, str]]:
    """Give the attributes of the classes as a process of a run finds them."""
    done = subprocess.run([*start, "attributes"], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        problem = f"cannot be imported by other processes ({said[-1]})"
        raise ScenarioError(problem, argument="control", cure="make its file importable by itself")
    found: list[dict[str, str]] = json.loads(done.stdout)
    return found


def _refuse_changes(control: type[Control], there: dict[str, str]) -> None:
    here = attributes(control)
    for name in [*here, *there]:
        mine, theirs = here.get(name, "not there"), there.get(name, "not there")
        if mine != theirs:
            problem = f"{name} is {mine}, and {theirs} in its file, which every run of a sweep imports again"
            own = f"class Changed({control.__name__}): {name.rpartition('.')[2]} = ..."
            raise ScenarioError(problem, argument="control", cure=f"give a subclass that is defined in a file: {own}")


def _function(value: object) -> str | None:
    for inner in ("__func__", "fget", "func"):
        value = getattr(value, inner, value)
    code = getattr(value, "__code__", None)
    return code and f"{code.co_name} of {Path(code.co_filename).name}:{code.co_firstlineno}"


def _text(value: object, module: str) -> str:
    if isinstance(value, type):
        return value.__qualname__
    if isinstance(value, (set, frozenset)):
        return repr(sorted(map(repr, value)))
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value)).replace(f"{module}.", "")


def _package_module(name: str) -> ModuleType:
    # A sweep that the module starts is refused by this name.
    sys.modules.setdefault(IMPORTED, ModuleType(IMPORTED))
    return importlib.import_module(name)


def _file(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(IMPORTED, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a module of Python")
    module = sys.modules[IMPORTED] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
