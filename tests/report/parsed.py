"""A page read back with the standard library, so that the tests see what a browser would."""

from __future__ import annotations

import re
from dataclasses import dataclass
from dataclasses import field
from html.parser import HTMLParser

VOID = {"meta", "input", "img", "source", "br", "path", "rect", "circle", "polyline"}


@dataclass
class Element:
    tag: str
    attrs: dict[str, str | None]
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What is to be read in it: no style, no script, no template, nothing that only scripts unfold."""
        if self.tag in ("style", "script", "template", "head"):
            return ""
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def all(self, tag: str | None = None) -> list[Element]:
        found = []
        for child in self.children:
            if isinstance(child, Element):
                if tag in (None, child.tag):
                    found.append(child)
                found += child.all(tag)
        return found

    def having(self, cls: str) -> list[Element]:
        return [one for one in self.all() if cls in (one.attrs.get("class") or "").split()]

    def one(self, cls: str) -> Element:
        (found,) = self.having(cls)
        return found

    def by_id(self, id: str) -> Element:
        (found,) = [one for one in self.all() if one.attrs.get("id") == id]
        return found


class Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self._open = [self.root]
        self.strays: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        self.strays += [f"{tag} has {name} twice" for name in names if names.count(name) > 1]
        element = Element(tag, dict(attrs))
        self._open[-1].children.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if self._open[-1].tag != tag:
            self.strays.append(f"</{tag}> closes <{self._open[-1].tag}>")
            return
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)

    def handle_comment(self, data: str) -> None:
        if data.strip() not in ("TEMPLATES", "END TEMPLATES"):  # pytest-html's
            self.strays.append(f"comment {data}")

    def unknown_decl(self, data: str) -> None:
        self.strays.append(f"declaration {data}")

    def handle_pi(self, data: str) -> None:
        self.strays.append(f"instruction {data}")


def parse(page: str) -> Element:
    """The page as a tree; raises AssertionError where its elements are not properly nested."""
    parser = Parser()
    parser.feed(page)
    parser.close()
    assert parser.strays == []
    assert parser._open == [parser.root]
    return parser.root


def flat(text: str) -> str:
    """With every run of blanks as one, as it is shown."""
    return re.sub(r"\s+", " ", text).strip()
