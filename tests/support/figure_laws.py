"""Laws that every figure keeps, and what is needed to look into one."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

from steelyard.figures import Figure
from steelyard.figures._figure import is_bold, size_of, text_width

SVG = "{http://www.w3.org/2000/svg}"
SHAPES = {"path", "rect", "circle"}
SLACK = 0.11
"""Places are rounded to a tenth."""


def elements(figure: Figure, *, alone: bool = False) -> list[tuple[ET.Element, tuple[ET.Element, ...]]]:
    """Every element with those that it stands in."""
    root = ET.fromstring(figure.svg if alone else figure.inline)  # noqa: S314 # written by us

    def walk(element: ET.Element, above: tuple[ET.Element, ...]) -> Iterator[tuple[ET.Element, tuple[ET.Element, ...]]]:
        yield element, above
        for child in element:
            yield from walk(child, (*above, element))

    return list(walk(root, ()))


def tag(element: ET.Element) -> str:
    return element.tag.removeprefix(SVG)


def shown_text(element: ET.Element) -> str:
    """What a text shows, its title left out."""
    return (element.text or "") + "".join(child.tail or "" for child in element)


def has_title(element: ET.Element) -> bool:
    return any(tag(child) == "title" and child.text for child in element)


def breaches(figure: Figure) -> list[str]:
    """What a figure does wrong."""
    wrong: list[str] = []
    every = elements(figure)
    root = every[0][0]
    children = [tag(child) for child in root]
    if children[:2] != ["title", "desc"] or not all(root[place].text for place in (0, 1)) or root.get("role") != "img":
        wrong.append("it lacks a title, a description or its role")
    for element, above in every:
        if any(name in element.attrib for name in ("style", "href", "onload", "onclick")) or tag(element) == "style":
            wrong.append(f"{tag(element)} has a style or a link")
        if tag(element) in SHAPES and not _is_furniture(above) and not any(map(has_title, (element, *above[1:]))):
            wrong.append(f"a {tag(element)} without a title: {element.attrib}")
        if not any(tag(parent) == "pattern" for parent in above):
            outside = _outside(figure, element, above)
            wrong += [f"{tag(element)} at {place} is outside: {element.attrib}" for place in outside]
    return wrong


def _is_furniture(above: tuple[ET.Element, ...]) -> bool:
    return any(parent.get("class") == "sy-frame" or tag(parent) == "pattern" for parent in above)


def _outside(figure: Figure, element: ET.Element, above: tuple[ET.Element, ...]) -> list[tuple[float, float]]:
    moves = [re.match(r"translate\((\S+) 0\)", parent.get("transform", "")) for parent in above]
    shift = math.fsum(float(move[1]) for move in moves if move)
    places = [(x + shift, y) for x, y in _corners(element, above)]
    if not all(math.isfinite(x) and math.isfinite(y) for x, y in places):
        return places
    return [
        (x, y) for x, y in places if not (-SLACK <= x <= figure.width + SLACK and -SLACK <= y <= figure.height + SLACK)
    ]


def _corners(element: ET.Element, above: tuple[ET.Element, ...]) -> list[tuple[float, float]]:
    def number(name: str) -> float:
        return float(element.get(name, "0"))

    match tag(element):
        case "rect":
            x, y = number("x"), number("y")
            return [(x, y), (x + number("width"), y + number("height"))]
        case "circle":
            x, y, radius = number("cx"), number("cy"), number("r")
            return [(x - radius, y - radius), (x + radius, y + radius)]
        case "path":
            return list(_path_points(element.get("d", "")))
        case "text":
            return _text_corners(element, above)
    return []


def _path_points(path: str) -> Iterator[tuple[float, float]]:
    x = y = 0.0
    for command, rest in re.findall(r"([MLHVhvlz])([^MLHVhvlz]*)", path):
        numbers = [float(number) for number in rest.split()]
        match command:
            case "M" | "L":
                x, y = numbers
            case "l":
                x, y = x + numbers[0], y + numbers[1]
            case "H":
                x = numbers[0]
            case "V":
                y = numbers[0]
            case "h":
                x += numbers[0]
            case "v":
                y += numbers[0]
        yield x, y


def _text_corners(element: ET.Element, above: tuple[ET.Element, ...]) -> list[tuple[float, float]]:
    """The ends of a text by our table of widths, turned as it is turned; its group may say its look and anchor."""
    styled = element if element.get("class") else above[-1]
    look = styled.get("class", "").removeprefix("sy-")
    width = text_width(shown_text(element), size=size_of(look), bold=is_bold(look))
    x, y = float(element.get("x", "0")), float(element.get("y", "0"))
    start = {"start": 0.0, "middle": -width / 2, "end": -width}[styled.get("text-anchor", "start")]
    low, high = -0.75 * size_of(look), 0.2 * size_of(look)
    angle = math.radians(-45 if "rotate(-45" in element.get("transform", "") else 0)
    return [
        (x + along * math.cos(angle) - up * math.sin(angle), y + along * math.sin(angle) + up * math.cos(angle))
        for along in (start, start + width)
        for up in (low, high)
    ]
