"""Any text as Markdown that shows it and does nothing else: no HTML, no images, no mentions, no broken structure."""

from __future__ import annotations

import re
from typing import Any

from sessionlog.text import plain

# Links that a click may follow; everything else is text.
SAFE_LINK = re.compile(r"(?:https?://|mailto:)[^\s<>\"'`\\]+", re.IGNORECASE)

# Longer texts are not parsed: that would take seconds, and nobody reads them.
PARSED = 200_000

_ALIGNED = {"text-align:right": "---:", "text-align:center": ":---:"}
# Most short texts: nothing in them is Markdown.
_HARMLESS = re.compile(r"[A-Za-z][A-Za-z0-9 ,.;:'\"()!?%/-]*")
_SPECIAL = re.compile(r"[\\`*_{}\[\]|~$]")
# It begins with a newline and not with ^, which would be tried at every letter.
_LINE_START = re.compile(r"\n(\s*)(#{1,6}(?=\s|$)|[-+=]|\d{1,9}(?=[.)]))")
_URL = re.compile(r"https?://[^\s<>\"'`\\\x00-\x1f]*[^\s<>\"'`\\.,;:!?)\]}\x00-\x1f]", re.IGNORECASE)


def escaped(text: str) -> str:
    """Plain text, in lines as it came. A zero-width space after @ and # keeps GitHub from notifying people."""
    if _HARMLESS.fullmatch(text) and "http" not in text.lower() and "GH-" not in text:
        return text
    safe = plain.safe(text)
    pieces, end = [], 0
    for match in _URL.finditer(safe):
        pieces += [_escaped_words(safe[end : match.start()]), f"<{match[0]}>"]
        end = match.end()
    return _LINE_START.sub(_at_line_start, "".join(("\n", *pieces, _escaped_words(safe[end:]))))[1:]


def paragraphs(text: str) -> str:
    """What a person typed, with its line breaks and indentation."""
    lines = escaped(text.strip("\n")).split("\n")
    shown = []
    for line, following in zip(lines, (*lines[1:], ""), strict=True):
        body = line.lstrip(" ")
        indent = "&nbsp;" * (len(line) - len(body))
        shown.append(f"{indent}{body.rstrip()}" + ("\\" if body.strip() and following.strip() else ""))
    return "\n".join(shown)


def quoted(text: str) -> str:
    """A block as a quotation."""
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def fenced(text: str, language: str = "text") -> str:
    """A block of code whose fence is longer than any inside it."""
    safe = plain.safe(text)
    longest = max((len(run) for run in re.findall(r"`{3,}", safe)), default=2) if "```" in safe else 2
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{safe}\n{fence}"


def code(text: str, width: int = 160) -> str:
    """A piece of code within a line."""
    flat = plain.one_line(text, width)
    if not flat:
        return ""
    if "`" not in flat:
        return f"`{flat}`"
    fence = "`" * (max(len(run) for run in re.findall(r"`+", flat)) + 1)
    pad = " " if "`" in (flat[0], flat[-1]) else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def markdown(text: str) -> str:
    """What a model wrote, in Markdown that is parsed and written again; nothing else gets through."""
    if len(text) > PARSED:
        return fenced(text)
    from markdown_it.tree import SyntaxTreeNode

    return _blocks(SyntaxTreeNode(parser().parse(plain.safe(text))).children)


def parser() -> Any:
    """CommonMark with tables, without HTML; only safe links are links.

    Cells are aligned by a class, `right` or `center`: no page of ours obeys styles in its text.
    """
    from markdown_it import MarkdownIt

    def cell(self: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
        style = str(tokens[index].attrs.pop("style", ""))
        if style in ("text-align:right", "text-align:center"):
            tokens[index].attrSet("class", style.partition(":")[2])
        opened: str = self.renderToken(tokens, index, options, env)
        return opened

    found = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    found.validateLink = lambda url: SAFE_LINK.fullmatch(url) is not None  # type: ignore[method-assign]
    for name in ("th_open", "td_open"):
        found.add_render_rule(name, cell)
    return found


def _escaped_words(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _SPECIAL.sub(lambda match: "\\" + match[0], text)
    if "@" in text:
        text = re.sub(r"@(?=\w)", "@&#8203;", text)
    if "#" in text or "GH-" in text:
        text = re.sub(r"#(?=\d)|\bGH-(?=\d)", lambda match: f"{match[0]}&#8203;", text)
    return text


def _at_line_start(match: re.Match[str]) -> str:
    """What would begin a heading, a list or a rule."""
    sign = match[2]
    return f"\n{match[1]}{sign}\\" if sign[0].isdigit() else f"\n{match[1]}\\{sign}"


# --- Writing a parsed text -------------------------------------------------------------------------------------------


def _blocks(nodes: list[Any]) -> str:
    return "\n\n".join(filter(None, map(_block, nodes)))


def _block(node: Any) -> str:
    match node.type:
        case "heading":  # below the headings of the document
            return f"{'#' * min(int(node.tag[1]) + 3, 6)} {_inline(node).replace(chr(10), ' ')}"
        case "fence" | "code_block":
            language = re.match(r"[\w+#.-]{0,30}", node.info or "")
            return fenced(node.content.rstrip("\n"), language[0] if language else "")
        case "blockquote":
            return quoted(_blocks(node.children))
        case "bullet_list":
            return _list(node.children, ["- "] * len(node.children))
        case "ordered_list":
            first = int(node.attrs.get("start", 1))
            return _list(node.children, [f"{number}. " for number in range(first, first + len(node.children))])
        case "table":
            rows = [row for part in node.children for row in part.children]
            lines = [f"| {' | '.join(_inline(cell).replace(chr(10), ' ') for cell in row.children)} |" for row in rows]
            rules = [_ALIGNED.get(str(cell.attrs.get("style")), "---") for cell in rows[0].children]
            return "\n".join((lines[0], f"| {' | '.join(rules)} |", *lines[1:]))
        case "hr":
            return "* * *"
    return _inline(node)


def _list(items: list[Any], marks: list[str]) -> str:
    """A list without blank lines stays one: with them, a browser would set its items apart."""
    tight = all(part.hidden for item in items for part in item.children if part.type == "paragraph")
    gap = "\n" if tight else "\n\n"
    shown = []
    for item, mark in zip(items, marks, strict=True):
        text = gap.join(filter(None, map(_block, item.children)))
        shown.append(mark + text.replace("\n", "\n" + " " * len(mark)))
    return gap.join(shown)


def _inline(node: Any) -> str:
    """The words of a node and of all in it."""
    match node.type:
        case "text" | "text_special":
            return escaped(node.content)
        case "code_inline":
            return code(node.content, 2000)
        case "softbreak":
            return "\n"
        case "hardbreak":
            return "\\\n"
        case "image":  # nothing is loaded from anywhere
            return _link(str(node.attrs.get("src", "")), f"image: {escaped(node.content)}")
    words = "".join(map(_inline, node.children))
    match node.type:
        case "strong":
            return f"**{words}**"
        case "em":
            return f"*{words}*"
        case "s":
            return f"~~{words}~~"
        case "link":
            return _link(str(node.attrs.get("href", "")), words)
    return words


def _link(url: str, words: str) -> str:
    if not SAFE_LINK.fullmatch(url):
        return words
    return f"<{url}>" if words in (f"<{url}>", "") else f"[{words.replace('<http', 'http')}](<{url}>)"


# Signs of Markdown that say how words look.
_SIGNS = (
    (re.compile(r"^\s{0,3}(?:#{1,6}|>|[-*+]|\d{1,3}[.)])\s+"), ""),
    (re.compile(r"\[([^\]\n]{1,300})\]\([^)\s]{1,500}\)"), r"\1"),
    (re.compile(r"(\*\*|__|~~)(?=\S)(.{1,400}?)(?<=\S)\1"), r"\2"),
    (re.compile(r"(`+)(.{1,400}?)\1"), r"\2"),
)


def words(line: str) -> str:
    """A line of Markdown without its signs, where there is room for its words only."""
    for pattern, replacement in _SIGNS:
        line = pattern.sub(replacement, line)
    return line
