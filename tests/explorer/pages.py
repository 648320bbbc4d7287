"""Reading the pages of the explorer as a browser does, without one."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "br", "input", "col", "rect", "path"}
MAY_STAY_OPEN = {"td", "th", "tr", "option", "p", "tbody", "thead"}
MAY_ASK_FOR = {"style", "script"}


class Element:
    """An element with its attributes, its text and what is inside."""

    def __init__(self, tag: str, attributes: dict[str, str | None], parent: Element | None) -> None:
        """An element without anything in it."""
        self.tag, self.attributes, self.parent = tag, attributes, parent
        self.children: list[Element] = []
        self.texts: list[str | Element] = []

    @property
    def text(self) -> str:
        """All text in it."""
        return "".join(one if isinstance(one, str) else one.text for one in self.texts)

    def all(self, tag: str = "", **attributes: str) -> list[Element]:
        """The elements in it with this tag and these attributes, dashes written as underscores."""
        found = []
        for child in self.children:
            has = child.attributes
            if tag in ("", child.tag) and all(
                value in (has.get(name.strip("_").replace("_", "-")) or "").split(" ")
                for name, value in attributes.items()
            ):
                found.append(child)
            found += child.all(tag, **attributes)
        return found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = self.at = Element("", {}, None)
        self.problems: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = Element(tag, dict(attrs), self.at)
        self.at.children.append(made)
        self.at.texts.append(made)
        if tag not in VOID:
            self.at = made

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = Element(tag, dict(attrs), self.at)
        self.at.children.append(made)

    def handle_endtag(self, tag: str) -> None:
        while self.at.tag in MAY_STAY_OPEN and self.at.tag != tag and self.at.parent is not None:
            self.at = self.at.parent
        if self.at.tag != tag or self.at.parent is None:
            self.problems.append(f"</{tag}> inside <{self.at.tag}>, line {self.getpos()[0]}")
        else:
            self.at = self.at.parent

    def handle_data(self, data: str) -> None:
        self.at.texts.append(data)


def read(html: str) -> Element:
    """The elements of a page or of a part of one, which must be well-formed."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert not reader.problems, reader.problems[:3]
    return reader.root
