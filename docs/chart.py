"""Charts of the book, which `farspan-lab chart` draws."""
import json
import pathlib
import subprocess


# The value of what never ends. JSON has no infinity.
NEVER = (None,)


def program(farspan=None):
    """farspan-lab: beside this program, or the one that `make release` builds."""
    return pathlib.Path(farspan or pathlib.Path(__file__).parents[1] / "target/release/farspan").with_name("farspan-lab")


def panel(title, x_label, y_label, lines, **others):
    """A chart of {name: [(place, value)]}: lines where places are numbers, else bars. A value is a number, None, NEVER, or (middle, low, high)."""
    places = list(dict.fromkeys(place for line in lines.values() for place, _ in line))
    bars = isinstance(places[0], str)
    named = [{"label": at} for at in places] if bars else [{"label": f"{at:.4g}", "at": at} for at in sorted(places)]
    return {"title": title, "kind": "bars" if bars else "lines", "x_label": x_label, "y_label": y_label, "places": named, "lines": lines, **others}


def points(line, places):
    values = {at: value if isinstance(value, tuple) else (value,) for at, value in line if value is not None}
    found = (values.get(place.get("at", place["label"])) for place in places)
    return [value and dict(zip(("middle", "low", "high"), value)) for value in found]


def svg(lab, title, panels, notes=()):
    """Up to three charts side by side, by the program `lab`."""
    names = list(dict.fromkeys(name for panel in panels for name in panel["lines"]))
    for panel in panels:
        panel["series"] = [{"line": names.index(name), "points": points(line, panel["places"])} for name, line in panel.pop("lines").items()]
    figure = {"title": title, "width": 780, "font": 9, "height": 150, "columns": min(3, len(panels)), "lines": names, "panels": panels, "notes": notes}
    return subprocess.run([lab, "chart"], input=json.dumps(figure), check=True, stdout=subprocess.PIPE, text=True).stdout
