"""Inline SVG: stand-alone drawings as elements of an HTML page."""

from __future__ import annotations

import re
from xml.etree import ElementTree

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"


def inline_svg(svg: bytes, prefix: str, label: str) -> str:
    """Return a drawing as an element of an HTML page.

    Declaration and metadata are left out, and the style sheet, which would apply to the whole page.

    Parameters
    ----------
    svg : bytes
        An SVG file that draws by paths, as Matplotlib's.
    prefix : str
        Stands before every identifier, so that those of several drawings differ.
    label : str
        Description for screen readers.
    """
    root = ElementTree.fromstring(svg)
    for parent in root.iter():
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
        attributes = {name.removeprefix(f"{{{_XLINK}}}"): value for name, value in element.attrib.items()}
        element.attrib.clear()
        element.attrib.update({name: _prefixed(name, value, prefix) for name, value in attributes.items()})
    root.attrib |= {"role": "img", "aria-label": label}
    root.attrib.pop("version", None)
    return ElementTree.tostring(root, encoding="unicode")


def _prefixed(name: str, value: str, prefix: str) -> str:
    if name == "id":
        return f"{prefix}-{value}"
    if name == "href" and value.startswith("#"):
        return f"#{prefix}-{value[1:]}"
    return re.sub(r"url\(#", f"url(#{prefix}-", value)
