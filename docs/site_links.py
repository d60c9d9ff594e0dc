"""Links of the pages, as the site has them.

Pages link to files of the checkout, as they are read there. On the site, what leads out of `docs/` is text: the file's
name, where the checkout has it. What leads nowhere stays a link, which a strict build refuses.
"""

import re
from pathlib import Path
from typing import Any

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """The text of a page; called by mkdocs."""
    pages = Path(config["docs_dir"]).resolve()
    folder = (pages / page.file.src_uri).parent
    return _LINK.sub(lambda found: _linked(found, folder, pages), markdown)


def _linked(found: re.Match[str], folder: Path, pages: Path) -> str:
    image, text, target, _ = found.groups()
    file = (folder / target).resolve()
    is_outside = ":" not in target and not file.is_relative_to(pages)
    if image or not is_outside or not file.exists():
        return found[0]
    name = file.relative_to(pages.parent).as_posix()
    return f"{text} (`{name}` in the sources)" if Path(target).name not in text else f"{text} (in the sources)"
