"""Charts as SVG, drawn by pygal on the server and dressed by charts.css: no script, no style, nothing to load."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pygal
import pygal.style
from markupsafe import Markup

from sessionlog.text import plain

# In units of the drawing, which is as wide as half a page; on a phone it is a little smaller, and its letters are not.
WIDTH, HEIGHT = 520, 210
LETTERS = 15  # the size for which room is left: theirs on a phone
X_LABELS = 5
COLOURS = 6  # that charts.css knows; what comes after shares the last one

# For plug-ins of its own, pygal adds a finder to Python's imports: of a kind that Python 3.12 no longer knows, and that
# makes every import warn before.
sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__module__.startswith("pygal")]

_pygal: Any = pygal  # has no types
_STYLE = _pygal.style.Style(label_font_size=LETTERS, major_label_font_size=LETTERS)
_ELEMENTS = {"svg", "g", "path", "rect", "circle", "line", "text", "a"}
_ATTRIBUTES = {"class", "cx", "cy", "d", "height", "href", "r", "rx", "ry", "transform", "viewBox", "width", "x", "y"}
_numbers = itertools.count(1)
GREATEST = 1e15  # what is drawn: a transcript may claim any cost, and sums of such are infinite


class Series(NamedTuple):
    """What is drawn in one colour: a value, a text about it and an address for each label."""

    name: str
    values: tuple[float, ...]
    texts: tuple[str, ...]
    links: tuple[str, ...] = ()
    colour: str = ""  # a class of charts.css; else the next one in order


FORMS: dict[str, Callable[[float], str]] = {
    "number": plain.amount,
    "dollars": lambda value: f"${plain.amount(round(value, 2))}",
    "percent": lambda value: f"{value:g}%",
}


def bars(title: str, labels: Sequence[str], series: Sequence[Series], unit: str = "number") -> Markup:
    """Stacked bars, one for each label."""
    drawable = [one._replace(values=tuple(min(max(value, 0), GREATEST) for value in one.values)) for one in series]
    return _drawn(title, tuple(labels), tuple(drawable), unit)


@lru_cache(maxsize=128)  # pygal takes tens of milliseconds: what was drawn lately is kept
def _drawn(title: str, labels: tuple[str, ...], series: tuple[Series, ...], unit: str) -> Markup:
    top = max((sum(one.values[place] for one in series) for place in range(len(labels))), default=0)
    chart = _pygal.StackedBar(
        width=WIDTH,
        height=HEIGHT,
        style=_STYLE,
        js=[],
        show_legend=False,
        truncate_label=-1,
        margin=2,
        margin_right=14,
        spacing=4,
        show_minor_x_labels=False,
        y_labels=[{"value": value, "label": FORMS[unit](value)} for value in _steps(top, unit)],
    )
    chart.x_labels = list(labels)
    step = max(1, math.ceil(len(labels) / X_LABELS))
    chart.x_labels_major = [label for place, label in enumerate(labels) if place % step == 0]
    for one in series:
        links = one.links or ("",) * len(labels)
        pairs = zip(one.values, links, strict=True)
        chart.add(one.name, [{"value": value, "xlink": {"href": href}} if href else value for value, href in pairs])
    return _dressed(chart.render_tree(), title, series)


def legend(series: Sequence[Series]) -> Markup:
    """Which colour is what."""
    mark = Markup(
        '<svg class="{}" width="10" height="10" aria-hidden="true"><rect width="10" height="10" rx="2"/></svg>'
    )
    items = [
        Markup("<li>{}{}</li>").format(mark.format(_colour(one, place)), one.name) for place, one in enumerate(series)
    ]
    return Markup('<ul class="legend small">{}</ul>').format(Markup("").join(items))


def _steps(top: float, unit: str) -> list[float]:
    """Round numbers from 0 to a little above the highest value."""
    if top <= 0:
        return [0, 1]
    rough = top / 4
    size = 10 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough)
    if unit == "number":
        step = max(1, math.ceil(step))
    count = math.ceil(top / step)
    return [round(step * number, 10) for number in range(count + 1)]


def _dressed(root: ElementTree.Element, title: str, series: tuple[Series, ...]) -> Markup:
    """The drawing without pygal's own style and script; each value says in a title what it is."""
    number = next(_numbers)
    drawing = _copied(root)
    drawing.attrib |= {"class": "chart", "role": "group", "aria-labelledby": f"chart-{number}"}
    heading = ElementTree.Element("title", {"id": f"chart-{number}"})
    heading.text = title
    drawing.insert(0, heading)
    for group in drawing.iter("g"):
        classes = (group.get("class") or "").split()
        if "series" in classes:
            place = next(int(name[6:]) for name in classes if name.startswith("serie-"))
            group.set("class", f"series {_colour(series[place], place)}")
            _tell(group, series[place])
    return Markup(ElementTree.tostring(drawing, encoding="unicode"))  # noqa: S704 (ElementTree has escaped it)


def _copied(element: ElementTree.Element) -> ElementTree.Element:
    """Only shapes, texts and links, with only what says where they are: as a page of HTML holds them."""
    copy = ElementTree.Element(_name(element.tag))
    for key, value in element.attrib.items():
        if (name := _name(key)) in _ATTRIBUTES:
            copy.set(name, str(value))
    copy.text = element.text if copy.tag == "text" else None
    copy.extend(_copied(child) for child in element if isinstance(child.tag, str) and _name(child.tag) in _ELEMENTS)
    return copy


def _tell(group: ElementTree.Element, series: Series) -> None:
    values = [element for element in group.iter("g") if element.get("class") == "bar"]
    # Strict: a title that slips to the next bar would be a lie. A group without bars is one of pygal's empty layers.
    for element, text in zip(values, series.texts if values else (), strict=True):
        told = ElementTree.Element("title")
        told.text = text
        link = element.find("a")
        if link is not None:
            link.set("tabindex", "-1")  # the table below the chart has the same links
        (element if link is None else link).insert(0, told)


def _colour(series: Series, place: int) -> str:
    return series.colour or f"c{min(place + 1, COLOURS)}"


def _name(name: Any) -> str:
    """Without its namespace: pygal gives some as objects."""
    return str(getattr(name, "text", name)).rpartition("}")[2]
