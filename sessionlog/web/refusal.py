"""The page for those who may see no other: what is wrong, and what to do about it."""

from __future__ import annotations

from html import escape

NO_TOKEN = "This page needs a token"  # noqa: S105
WHERE = (
    "Other users of this machine can reach this address too, so it needs a token.\n"
    "Open the address that `sessionlog browse` printed: it holds the token, and your browser will remember it.\n"
    "The token is also in the file browse.token, in the folder of the archives; `sessionlog path` prints where that is."
)
FROM_AFAR = "Open the address that `sessionlog browse` printed: it holds the token, and your browser will remember it."

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · sessionlog</title>
<link rel="icon" href="/-/static-plugins/claude-sessionlog/icon.svg">
<link rel="stylesheet" href="/-/static-plugins/claude-sessionlog/base.css">
</head>
<body>
<main id="main">
<section class="empty">
<h1>{title}</h1>
{text}
{form}</section>
</main>
</body>
</html>
"""
_FORM = """<form class="token" action="/" method="get">
<label>Token <input type="password" name="token" autocomplete="off" required autofocus></label>
<button>Open</button>
</form>
"""


def page(title: str, text: str, form: bool = False) -> str:
    """A small page of its own: nothing of the archive is in it."""
    words = escape(text).split("`")
    shown = "".join(word if number % 2 == 0 else f"<code>{word}</code>" for number, word in enumerate(words))
    shown = "\n".join(f"<p>{paragraph}</p>" for paragraph in shown.split("\n"))
    return _PAGE.format(title=escape(title), text=shown, form=_FORM if form else "")
