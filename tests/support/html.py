"""Pages of HTML: their elements, and what makes them closed in themselves and harmless."""

import re
from html.parser import HTMLParser

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"
_VOID = {"meta", "br", "hr", "img", "link", "input"}
_LINKS = {"src", "href", "xlink:href", "action", "formaction"}


class Page(HTMLParser):
    """Elements of a page, and whether they nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attributes}))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attributes}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def of_class(self, name: str) -> list[dict[str, str]]:
        """Attributes of the elements of a class."""
        return [attributes for _, attributes in self.elements if name in attributes.get("class", "").split()]


def assert_closed_in_itself(text: str) -> None:
    """Nothing of the page comes from elsewhere or leads there."""
    page = Page(text)
    assert not page.open
    assert not {tag for tag, _ in page.elements} & {"link", "img", "iframe", "object", "embed", "base"}
    linked = {value for _, attributes in page.elements for name, value in attributes.items() if name in _LINKS}
    assert all(value.startswith("#") for value in linked)
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", text)
    assert "default-src 'none'" in text


def assert_harmless(text: str) -> None:
    """A page with texts that contain HOSTILE: they are there, and no elements."""
    assert "alert(1)" in text
    page = Page(text)
    tags = [tag for tag, _ in page.elements]
    assert tags.count("script") == 1 and "img" not in tags and not page.open
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
