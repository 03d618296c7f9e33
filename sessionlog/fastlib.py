"""The few pieces of the standard library that the hook needs, at the price of their C cores.

A bare interpreter starts in 10 ms; `import json` adds another 10, `sqlite3` 8, `os` 1.4. Their C cores cost next to
nothing. Where a core is missing or has changed, the public module takes its place: tests/record/test_hook.py shows that
both ways store the same rows.
"""

import sys

TYPE_CHECKING = False  # importing it from typing costs more than the rest of the hook
if TYPE_CHECKING:
    import os
    import sqlite3
    from hashlib import blake2b
    from typing import Any
else:
    try:
        import posix as os
    except ImportError:  # Windows
        import os


def _core_of(name: str) -> "Any":
    """The C module of this name. The bundle knows its file (record/bundle.py): a search for it costs as much again."""
    path = getattr(sys.modules["sessionlog"], "c_modules", {}).get(name)
    if not path or name in sys.modules:
        return __import__(name)
    import _imp

    module = _imp.create_dynamic(sys.modules["_frozen_importlib"].ModuleSpec(name, None, origin=path))
    _imp.exec_dynamic(module)
    sys.modules[name] = module
    return module


if not TYPE_CHECKING:
    try:
        blake2b = _core_of("_blake2").blake2b
    except ImportError:
        import hashlib

        # Without it nothing can be chained, and events wait in the spool.
        blake2b = getattr(hashlib, "blake2b", None)

__all__ = [
    "blake2b",
    "connect",
    "encode_ascii",
    "encode_json",
    "getenv",
    "os",
    "parse_json",
    "sqlite_error",
    "utc_text",
]


def getenv(name: str) -> str:
    """The value of an environment variable, empty when it is not set."""
    public = sys.modules.get("os")
    if public:  # the core's copy is as old as the process
        return public.environ.get(name, "")  # type: ignore[no-any-return]
    core: dict[bytes, bytes] = os.environ  # type: ignore[assignment]
    return core.get(name.encode(), b"").decode("utf-8", "surrogateescape")


def utc_text(milliseconds: int) -> str:
    """Milliseconds since 1970 as the archive writes times: 2026-11-16T01:41:14.736Z."""
    import time

    seconds, thousandths = divmod(milliseconds, 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{thousandths:03}Z"


# --- JSON -------------------------------------------------------------------------------------------------------------


def _refuse_constant(name: str) -> "Any":
    raise ValueError(f"{name} is not JSON")


class _Reading:
    """What the C scanner asks for. Control characters inside strings are let through: nothing is thrown away."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = staticmethod(_refuse_constant)


def _json_core() -> "tuple[Any, Any, Any]":
    try:
        core = _core_of("_json")
        scan = core.make_scanner(_Reading)

        def encoder(quote: "Any") -> "Any":
            encode = core.make_encoder(None, _refuse_type, quote, None, ":", ",", False, False, False)
            return lambda value: "".join(encode(value, 0))

        write, write_ascii = encoder(core.encode_basestring), encoder(core.encode_basestring_ascii)
        if scan('{"a":[1]}', 0) != ({"a": [1]}, 9) or write({"a": ["é"]}) != '{"a":["é"]}':
            raise ImportError("the C core of json has changed")
        return scan, write, write_ascii
    except (ImportError, TypeError, AttributeError):
        import json

        decoder: Any = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)
        options: Any = {"separators": (",", ":"), "allow_nan": False, "check_circular": False}
        return (
            decoder.scan_once,
            json.JSONEncoder(ensure_ascii=False, **options).encode,
            json.JSONEncoder(ensure_ascii=True, **options).encode,
        )


def _refuse_type(value: object) -> "Any":
    raise TypeError(f"{type(value).__name__} is not JSON")


_scan, encode_json, encode_ascii = _json_core()


def parse_json(text: str) -> "Any":
    """The JSON value that makes up the whole text. Raises ValueError for anything else, also for too deep nesting."""
    body = text.lstrip(" \t\r\n")
    try:
        try:
            value, end = _scan(body, 0)
        except SystemError:  # the C scanner wants to raise an exception of a module that is not imported
            import json.decoder  # noqa: F401

            value, end = _scan(body, 0)
    except StopIteration:
        raise ValueError("no JSON value" if body else "nothing arrived") from None
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    if body[end:].strip(" \t\r\n"):
        raise ValueError("more than one JSON value")
    return value


# --- SQLite -----------------------------------------------------------------------------------------------------------


class _Functools:
    """All that _sqlite3 wants of functools: a cache around the connection's own `prepare`. Ours caches nothing."""

    @staticmethod
    def lru_cache(_size: int) -> "Any":
        return lambda prepare: prepare


def _sqlite_core() -> "Any":
    stand_in = "functools" not in sys.modules and "sqlite3" not in sys.modules
    modules: dict[str, Any] = sys.modules
    if stand_in:
        modules["functools"] = _Functools
    try:
        return _core_of("_sqlite3")
    except ImportError:
        if stand_in:
            del modules["functools"]
        import sqlite3

        return sqlite3
    finally:
        if modules.get("functools") is _Functools:
            del modules["functools"]


_core = _sqlite_core()
sqlite_error: "type[sqlite3.Error]" = _core.Error


def connect(path: str, timeout: float) -> "sqlite3.Connection":
    """A connection in autocommit mode; one statement is one transaction."""
    connection: sqlite3.Connection = _core.connect(path, timeout=timeout, isolation_level=None)
    return connection
