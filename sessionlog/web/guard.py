"""Who may ask the server, and what a browser may do with the answer.

Every request needs the token that `sessionlog browse` prints, as its address or as a cookie. A page of somebody else's
could let its own name point to 127.0.0.1: a request for a foreign host is refused, and so is one that a page of another
site sends.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
import sys
import traceback
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

from jinja2.ext import Extension

from sessionlog.web import archives, limits, refusal
from sessionlog.web import token as tokens

COOKIE = "sessionlog-token"
COOKIE_SECONDS = 365 * 24 * 3600

# What needs no token: the style sheet of the page that asks for one.
OPEN = "/-/static-plugins/claude-sessionlog/"
METHODS = ("GET", "HEAD")
# The one thing that can be changed, and how long such a form may be: see pins.py.
WRITES, LONGEST_FORM = "/-/pins", 20_000

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
# Our pages hold no script and no style but those in files.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# Datasette's own templates have a few inline scripts, which get a nonce, and styles.
DATASETTE_POLICY = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

# What allows the scripts in a page to run, and no others. Not a part of the request: pages that say what went wrong are
# rendered without one.
nonce: ContextVar[str] = ContextVar("nonce", default="")

App = Callable[[dict[str, Any], Any, Any], Awaitable[None]]


class NonceForScripts(Extension):
    """Marks the scripts that a template itself holds; one that came with the data is not marked, and does not run."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        return source.replace("<script", '<script nonce="{{ csp_nonce() }}"')


def wrapper(datasette: Any) -> Callable[[App], App]:
    """Around the whole of Datasette, if it is about archives."""

    def wrap(app: App) -> App:
        if not archives.is_served(datasette):
            return app
        turns = limits.Turns()

        async def guarded(scope: dict[str, Any], receive: Any, send: Any) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
            elif not await _refused(datasette, scope, send):
                nonce.set(secrets.token_urlsafe(16))
                await _answered(app, turns, scope, receive, _with_headers(send, scope["path"], nonce.get()))

        return guarded

    return wrap


async def _refused(datasette: Any, scope: dict[str, Any], send: Any) -> bool:
    """Answer a request that gets no page; whether it was one."""
    token = tokens.of(datasette)
    headers = dict(scope["headers"])
    own_name, port = scope.get("server") or ("localhost", None)
    is_local = is_loopback(own_name)

    async def answer(status: int, title: str, text: str, *more: tuple[bytes, bytes], form: bool = False) -> bool:
        await _answer(send, headers, status, title, text, *more, form=form)
        return True

    if not _may_be_called(headers.get(b"host", b"").decode("latin-1"), is_local):
        return await answer(421, "Another name", "This server does not answer to that name.")
    if headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
        text = "Another site sent this request. Type the address, or use a bookmark."
        return await answer(403, "From another site", text)
    if not is_local and not token:
        return await answer(
            403, "Not from here", "Use `sessionlog browse --host …` to show archives to other machines."
        )
    is_write = scope["method"] == "POST" and scope["path"] == WRITES
    if scope["method"] not in METHODS and not is_write:
        return await answer(405, "Only to look at", "Nothing can be changed here.", (b"allow", b"GET, HEAD"))
    if is_write and not _is_form_of_ours(headers):
        return await answer(403, "Not a form of ours", "Use the button in the page.")
    if not token:
        return False
    if any(name == "token" and tokens.opens(datasette, value) for name, value in _query(scope)):
        cookie = f"{COOKIE}={tokens.cookie(token, port)}; Path=/; HttpOnly; SameSite=Strict; Max-Age={COOKIE_SECONDS}"
        more = ((b"location", _without_token(scope)), (b"set-cookie", cookie.encode()))
        return await answer(303, "Come in", "", *more)
    if scope["path"].startswith(OPEN) or tokens.same(_cookie(headers), tokens.cookie(token, port)):
        return False
    return await answer(403, refusal.NO_TOKEN, refusal.WHERE if is_local else refusal.FROM_AFAR, form=True)


async def _answered(app: App, turns: limits.Turns, scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Let Datasette answer. A typed query waits for its turn; what nobody foresaw is a page with our headers, too."""
    is_typed = limits.is_typed(scope["query_string"])
    if is_typed and not await turns.take():
        text = "Other queries are running. Try again in a few seconds."
        await _answer(send, dict(scope["headers"]), 503, "Busy", text, (b"retry-after", b"5"))
        return
    has_begun = False

    async def send_and_see(message: dict[str, Any]) -> None:
        nonlocal has_begun
        has_begun = True
        await send(message)

    try:
        await app(scope, receive, send_and_see)
    except Exception:
        traceback.print_exc(file=sys.stderr)
        if has_begun:
            raise
        await _answer(send, dict(scope["headers"]), 500, "A mistake of ours", "This page cannot be shown.")
    finally:
        if is_typed:
            turns.give_back()


def _with_headers(send: Any, path: str, own: str) -> Any:
    """Add what every answer has. Files that come with the package may be kept by the browser, nothing else."""
    is_static = path.startswith(("/-/static/", "/-/static-plugins/"))

    async def send_with_headers(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            given = message["headers"]
            if not is_static:
                given = [header for header in given if header[0].lower() != b"cache-control"]
                given.append((b"cache-control", b"no-store"))
            message = {**message, "headers": given}
            present = {name.lower() for name, _ in given}
            more = [header for header in HEADERS if header[0] not in present]
            if b"content-security-policy" not in present:
                more.append((b"content-security-policy", DATASETTE_POLICY.format(nonce=own).encode()))
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return send_with_headers


def _is_form_of_ours(headers: dict[bytes, bytes]) -> bool:
    """Whether a page of this server sent it, and it is short. Datasette looks at the form's own token besides."""
    length = headers.get(b"content-length", b"")
    if not length.isdigit() or len(length) > 9 or int(length) > LONGEST_FORM:
        return False
    site = headers.get(b"sec-fetch-site")
    origin, host = headers.get(b"origin", b""), headers.get(b"host", b"")
    return site == b"same-origin" if site else origin.partition(b"://")[2] == host


def _may_be_called(host: str, is_local: bool) -> bool:
    """By an address or a name of this machine; a rebound name would come as itself."""
    name = _without_port(host).lower().rstrip(".")
    if is_loopback(name):
        return True
    if is_local:
        return False
    own = socket.gethostname().lower()
    return _is_address(name) or name in (own, own.partition(".")[0], f"{own.partition('.')[0]}.local")


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(name: str) -> bool:
    """Whether this name or address is only for this machine."""
    return name == "localhost" or (_is_address(name) and ipaddress.ip_address(name).is_loopback)


def _cookie(headers: dict[bytes, bytes]) -> str:
    try:
        morsel = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1")).get(COOKIE)
    except CookieError:
        return ""
    return morsel.value if morsel else ""


def _query(scope: dict[str, Any]) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)


def _without_token(scope: dict[str, Any]) -> bytes:
    """The same address without the token: it belongs into no history, and not into what people copy."""
    rest = urlencode([(name, value) for name, value in _query(scope) if name != "token"])
    path: bytes = scope.get("raw_path", scope["path"].encode()).partition(b"?")[0]
    # To browsers, // and /\\ begin the name of another host.
    path = b"/" + path.replace(b"\\", b"%5C").lstrip(b"/")
    return path + (f"?{rest}".encode() if rest else b"")


async def _answer(
    send: Any,
    asked: dict[bytes, bytes],
    status: int,
    title: str,
    text: str,
    *more: tuple[bytes, bytes],
    form: bool = False,
) -> None:
    """A short answer of our own: a page for browsers, a line for programs."""
    is_page = b"text/html" in asked.get(b"accept", b"")
    body = refusal.page(title, text, form) if is_page else f"{title}: {text}\n"
    kind = b"text/html; charset=utf-8" if is_page else b"text/plain; charset=utf-8"
    own = [(b"content-type", kind), (b"cache-control", b"no-store"), (b"content-security-policy", POLICY.encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*own, *HEADERS, *more]})
    await send({"type": "http.response.body", "body": body.encode()})
