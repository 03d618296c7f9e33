"""What models write, as HTML: Markdown without HTML of its own, code in colours, then through a sanitiser."""

from __future__ import annotations

from functools import cache
from typing import Any

import nh3
from markupsafe import Markup

from sessionlog.text import inert_markdown, plain
from sessionlog.web import highlight

TAGS = {
    *("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li", "pre"),
    *("table", "thead", "tbody", "tr", "th", "td", "strong", "em", "s", "code", "span", "a"),
}
TASKS = {"[x] ": "☑", "[X] ": "☑", "[ ] ": "☐"}
# Longer texts are shown as they came: some that are made for it take the parser seconds.
RENDERED = 30_000


def html(text: str) -> Markup | None:
    """The text as HTML; None if it is too long for that."""
    if len(text) > RENDERED:
        return None
    rendered = _renderer().render(plain.safe(text))
    clean = nh3.clean(
        rendered,
        tags=TAGS,
        attributes={
            **{"a": {"href"}, "span": {"class"}, "pre": {"class"}, "ol": {"start"}, "li": {"class"}},
            **{"th": {"class"}, "td": {"class"}},
        },
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    return Markup(clean)  # noqa: S704 (a sanitiser made it)


@cache
def _renderer() -> Any:
    """Markdown without images: nothing is loaded. Headings begin below those of the page."""
    parser = inert_markdown.parser().disable("image")

    def fence(self: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
        language = (tokens[index].info or "").split(maxsplit=1)
        coloured = highlight.block(
            tokens[index].content.rstrip("\n"), highlight.for_language(language[0]) if language else None
        )
        return f'<pre class="code">{coloured}</pre>\n'

    def heading(self: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
        tokens[index].tag = f"h{min(int(tokens[index].tag[1]) + 2, 6)}"
        rendered: str = self.renderToken(tokens, index, options, env)
        return rendered

    def item(self: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
        """- [x] is a task that is done."""
        words = next((token for token in tokens[index : index + 3] if token.type == "inline"), None)
        first = words.children[0] if words and words.children else None
        mark = TASKS.get(first.content[:4]) if first and first.type == "text" else None
        if first and mark:
            first.content = f"{mark} {first.content[4:]}"
            tokens[index].attrSet("class", "task")
        opened: str = self.renderToken(tokens, index, options, env)
        return opened

    parser.add_render_rule("list_item_open", item)
    for name in ("fence", "code_block"):
        parser.add_render_rule(name, fence)
    for name in ("heading_open", "heading_close"):
        parser.add_render_rule(name, heading)
    return parser
