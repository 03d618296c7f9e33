"""Who may ask the server, and what a browser may do with the answer.

A page of somebody else's could let its own name point to 127.0.0.1 and so read the archive through the browser: a
request for a foreign host is refused. Whoever binds another address than this machine's own needs a token.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

from jinja2.ext import Extension

from sessionlog.web import archives

COOKIE = "sessionlog-token"

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
    """Around the whole of Datasette, if it serves an archive."""

    def wrap(app: App) -> App:
        if not archives.of(datasette):
            return app
        token = (datasette.plugin_config("sessionlog") or {}).get("token")

        async def guarded(scope: dict[str, Any], receive: Any, send: Any) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            headers = dict(scope["headers"])
            is_local = is_loopback((scope.get("server") or ("localhost", None))[0])
            if not _may_be_called(headers.get(b"host", b"").decode("latin-1"), is_local):
                await _answer(send, 421, "This server does not answer to that name.")
            elif not is_local and not token:
                await _answer(send, 403, "Use `sessionlog browse --host …` to show archives to other machines.")
            elif token and _token_in_address(scope, token):
                await _let_in(scope, send, token)
            elif token and not _same(_cookie(headers), token):
                await _answer(send, 403, "Open the address that `sessionlog browse` printed: it holds the token.")
            else:
                nonce.set(secrets.token_urlsafe(16))
                await app(scope, receive, _with_headers(send, nonce.get()))

        return guarded

    return wrap


def _with_headers(send: Any, own: str) -> Any:
    async def send_with_headers(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            more = [header for header in HEADERS if header[0] not in present]
            if b"content-security-policy" not in present:
                more.append((b"content-security-policy", DATASETTE_POLICY.format(nonce=own).encode()))
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return send_with_headers


def _may_be_called(host: str, is_local: bool) -> bool:
    """By an address or a name of this machine; whoever rebinds a name of theirs comes with that name."""
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


def _token_in_address(scope: dict[str, Any], token: str) -> bool:
    return any(name == "token" and _same(value, token) for name, value in _query(scope))


def _query(scope: dict[str, Any]) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())


async def _let_in(scope: dict[str, Any], send: Any, token: str) -> None:
    """Keep the token in a cookie, and out of the address, the history and what people copy."""
    rest = urlencode([(name, value) for name, value in _query(scope) if name != "token"])
    path = scope.get("raw_path", scope["path"].encode()).partition(b"?")[0].decode("latin-1")
    location = "/" + path.lstrip("/") + (f"?{rest}" if rest else "")
    cookie = f"{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict"
    await _answer(send, 303, "", (b"location", location.encode()), (b"set-cookie", cookie.encode()))


async def _answer(send: Any, status: int, text: str, *headers: tuple[bytes, bytes]) -> None:
    start = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store"), *HEADERS, *headers]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": f"{text}\n".encode()})
