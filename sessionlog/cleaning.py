"""The slow half of redaction: finds the secrets that a payload is suspected of, and replaces them.

Imported only on suspicion: with `re` it costs a hook as much as starting Python.
"""

import os
import re
from functools import partial

from sessionlog.lean import blake2b, parse_json
from sessionlog.plausible import (
    ENDS_OF_NAMES,
    has_digit,
    is_credential,
    is_for_shells,
    is_repetitive,
    is_secret,
    is_url_password,
)
from sessionlog.redact import AFTER_CODE, LETTERS, Detector, is_option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sessionlog.redact import Rules


def clean(value: "Any", redact: "Callable[[str], str]") -> "Any":
    """The parsed JSON value without its secrets; dicts and lists are changed in place."""
    root = [value]
    stack: list[Any] = [root]  # no recursion: a payload may be nested as deep as the parser allows
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            entries = list(node.items())
            node.clear()
            for key, item in entries:
                name = redact(key)
                while name in node:  # two secrets as keys, and no fingerprints to tell them apart
                    name += "+"
                node[name] = _clean_entry(redact, name, item) if isinstance(item, str) else item
        else:
            node[:] = [redact(item) if isinstance(item, str) else item for item in node]
        children = node.values() if isinstance(node, dict) else node
        stack += [item for item in children if isinstance(item, (dict, list))]
    return root[0]


def redactor(rules: "Rules", suspects: "tuple[Detector, ...]") -> "Callable[[str], str]":
    """What replaces the secrets in a text."""
    steps = []
    for detector in suspects:
        try:
            steps.append((re.compile(detector.regex), partial(_replacement, rules, detector)))
        except (re.error, OverflowError, RecursionError):
            continue  # one of the user's; `problem` tells

    def redact(text: str) -> str:
        for pattern, replacement in steps:
            text = pattern.sub(replacement, text)
        return text

    return redact


def fingerprint(rules: "Rules", secret: str) -> str:
    """Ten digits of a hash with this machine's key."""
    if rules.key is None:
        rules.key = _machine_key(rules.home)
    if not rules.key:
        return "nokey"
    return blake2b(secret.encode("utf-8", "surrogatepass"), key=rules.key).hexdigest()[:10]


def configure(rules: "Rules", text: bytes) -> None:
    """Takes over what is sound in config.json: a mistake costs its own entry, never the redaction."""
    try:
        config = parse_json(text.decode())
    except ValueError as error:
        rules.problems.append(f"it is not JSON ({error})")
        return
    terms = {bool: "true or false", dict: "an object", list: "a list", str: "a string"}

    def take(source: "dict[str, Any]", name: str, default: "Any") -> "Any":
        value = source.get(name, default)
        if type(value) is type(default):
            return value
        rules.problems.append(f'"{name}" is not {terms[type(default)]}')
        return default

    redact = take(config if isinstance(config, dict) else {"redact": None}, "redact", {})
    rules.enabled = take(redact, "enabled", True)
    allow = take(redact, "allow", [])
    rules.allow = frozenset(value for value in allow if isinstance(value, str))
    if not all(isinstance(value, str) for value in allow):
        rules.problems.append('"allow" holds more than strings')
    for item in take(redact, "patterns", []):
        entry = item if isinstance(item, dict) else {}
        kind, regex, contains = take(entry, "kind", ""), take(entry, "regex", ""), take(entry, "contains", "")
        if not (regex and kind.isascii() and kind.replace("-", "").isalnum() and len(kind) <= 40):
            rules.problems.append('a pattern needs a "regex", and a "kind" of letters, digits and hyphens')
            continue
        # Without `contains`, or with one that JSON spells otherwise, it runs on every event, for 8 ms and more.
        plain = contains.isascii() and contains.isprintable() and not {'"', "\\"} & set(contains)
        rules.own.append(Detector(kind, regex, (contains.encode(),) if contains and plain else ()))


def problem(rules: "Rules") -> str | None:
    """What is wrong with config.json, the user's patterns included."""
    problems = list(rules.problems)
    for detector in rules.own:
        try:
            re.compile(detector.regex)
        except (re.error, OverflowError, RecursionError) as error:
            problems.append(f"the regex of {detector.kind!r} is wrong ({error})")
    return f"{rules.home}/config.json: {', '.join(problems)}." if problems else None


def _replacement(rules: "Rules", detector: Detector, match: "re.Match[str]") -> str:
    start, end = match.span("secret" if "secret" in match.re.groupindex else 0)
    text, secret = match.string, match.string[start:end]
    if not secret or secret in rules.allow or _is_redacted(text, start, end):
        return match[0]
    if detector.judge and not _JUDGES[detector.judge](match):
        return match[0]
    marker = f"[redacted:{detector.kind}:{fingerprint(rules, secret)}]"
    return text[match.start() : start] + marker + text[end : match.end()]


def _clean_entry(redact: "Callable[[str], str]", key: str, item: str) -> str:
    """The value of a dict's entry, read together with its key when the key is a name such as `password`."""
    if key.lower().endswith(ENDS_OF_NAMES):
        prefix = f"{key}='" if '"' in item else f'{key}="'
        text = redact(prefix + item)
        if text.startswith(prefix):
            return text[len(prefix) :]
    return redact(item)


def _is_redacted(text: str, start: int, end: int) -> bool:
    """Whether an earlier cleaning was here: the `password:ab12cd34ef` it left is no assignment."""
    opened = text.rfind("[redacted:", max(0, start - 64), end)
    return opened >= start or (opened >= 0 and "]" not in text[opened:start])


def _machine_key(home: str) -> bytes:
    """The machine's random key, made on first need; empty when there is none to be had."""
    path = f"{home}/redact.key"
    # A symbolic link is refused, and a pipe in the place of the file must not hang the hook.
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        if not os.path.lexists(path):
            os.makedirs(home, mode=0o700, exist_ok=True)
            _make_key(path, flags)
        with open(os.open(path, os.O_RDONLY | flags), "rb") as file:
            key = file.read(33)
    except OSError:
        return b""
    return key if len(key) == 32 else b""


def _make_key(path: str, flags: int) -> None:
    """A draft, then a link to it: the key is there whole or not at all, and of many processes one wins."""
    draft = f"{path}.{os.urandom(8).hex()}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | flags, 0o600)
    try:
        with open(descriptor, "wb", buffering=0) as file:
            file.write(os.urandom(32))
            os.fsync(file)  # an empty key after a power cut would be there for good
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        os.unlink(draft)


def _judge_token(match: "re.Match[str]") -> bool:
    text, start, low = match.string, match.start(), match[0].lower()
    before = text[start - 1 : start]
    inside = before.isascii() and before.isalnum()  # of a longer word, if not of an escape: \n, \u4e2d
    inside = inside and text[start - 2 : start] not in ("\\n", "\\r", "\\t") and text[start - 6 : start - 4] != "\\u"
    words = match[0] == low and not has_digit(low)
    return not inside and not words and not is_repetitive(low) and "your" not in low[:24]


def _judge_assignment(match: "re.Match[str]") -> bool:
    text, end = match.string, match.end()
    before = text[max(0, match.start() - 40) : match.start()]
    if not match["sep"] and not is_option(before):
        return False
    if not match["quote"] and text[end : end + 1] in AFTER_CODE:
        return False
    # .NET's PublicKeyToken, and types such as AWS::IAM::AccessKey
    if before.lower().endswith("publickey") or before.rstrip(LETTERS).endswith("::"):
        return False
    tight = text[match.end("name") : match.start("secret")] == "="
    return is_secret(match["name"], match["secret"], bool(match["quote"]), is_for_shells(match["name"], before, tight))


def _judge_authorization(match: "re.Match[str]") -> bool:
    called = match.string[match.end() : match.end() + 1] in AFTER_CODE
    return not called and is_credential(match["secret"], match["scheme"] or "")


_JUDGES: "dict[str, Callable[[re.Match[str]], bool]]" = {
    "token": _judge_token,
    "assignment": _judge_assignment,
    "authorization": _judge_authorization,
    "url": lambda match: is_url_password(match["secret"]),
}
