"""The slow half of redaction: finds the secrets that a payload is suspected of, and replaces them.

Imported only on suspicion; and `re`, which costs a hook as much as starting Python, only for tokens with a form.
"""

from sessionlog.fastlib import blake2b
from sessionlog.redact import machine_key
from sessionlog.redact.detector import Detector
from sessionlog.redact.heuristics import has_digit, is_echo, is_repetitive, looks_random
from sessionlog.redact.secret_names import read

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable
    from typing import Any

    from sessionlog.redact.rules import Found, Rules


_ROUNDS = 8
AGAIN = "the same value as elsewhere"


def clean(value: "Any", redact: "Redactor") -> "Any":
    """The parsed JSON value without its secrets; dicts and lists are changed in place."""
    root = [value]
    for _ in range(_ROUNDS):
        _walk(root, redact, redact.entry)
        if not redact.echoes():
            break
        before = redact.replaced
        _walk(root, redact.echo, lambda _, item: redact.echo(item) if isinstance(item, str) else item)
        if redact.replaced == before:
            break
    return root[0]


def clean_text(text: str, redact: "Redactor") -> str:
    """The text without its secrets."""
    for _ in range(_ROUNDS):
        before, text = text, redact.echo(redact(text))
        if text == before:
            break
    return text


def _walk(root: "list[Any]", redact: "Callable[[str], str]", entry: "Callable[[str, Any], Any]") -> None:
    stack: list[Any] = [root]  # no recursion: a payload may be nested as deep as the parser allows
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            entries = list(node.items())
            named = node.get("name") or node.get("key")  # {"name": "DB_PASSWORD", "value": "x"}
            node.clear()
            for key, item in entries:
                name = redact(key)
                while name in node:  # two secrets as keys, and no fingerprints to tell them apart
                    name += "+"
                node[name] = entry(named if name == "value" and isinstance(named, str) else name, item)
        else:
            node[:] = [redact(item) if isinstance(item, str) else item for item in node]
        children = node.values() if isinstance(node, dict) else node
        stack += [item for item in children if isinstance(item, (dict, list))]


def clean_numbers(value: "Any", redact: "Redactor") -> "Any":
    """A card or a phone number may stand in JSON as a number: it becomes a text."""
    root = [value]
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        for key, item in list(node.items() if isinstance(node, dict) else enumerate(node)):
            if isinstance(item, (dict, list)):
                stack.append(item)
            elif type(item) in (int, float) and (text := redact(str(item))) != str(item):
                node[key] = text
    return root[0]


class Redactor:
    """Replaces the secrets in texts, and remembers them."""

    def __init__(self, rules: "Rules", suspects: "tuple[Any, ...]") -> None:
        self.rules = rules
        self.secrets: dict[str, str] = {}  # what was replaced, and by what
        self.log: list[tuple[str, str, str]] = []  # the same in its order: the secret, its kind, the rule
        self.replaced = 0
        self._known, self._echoes = 0, list[str]()
        self.finders = [finder for suspect in sorted(suspects, key=_turn) if (finder := _finder(suspect))]

    def __call__(self, text: str) -> str:
        # Where secrets are glued together, the marker of one uncovers another: once more, until nothing is found.
        for _ in range(_ROUNDS):
            before = self.replaced
            for finder in self.finders:
                found = finder(text)
                if found:
                    text = self.replace(text, found)
            if self.replaced == before:
                break
        return text

    def replace(self, text: str, found: "list[Found]") -> str:
        """The text with markers in the place of what was found."""
        pieces: list[str] = []
        done = 0
        for start, end, kind, rule in found:
            secret = text[start:end]
            if secret in self.rules.allow:
                continue
            marker = f"[redacted:{kind}:{fingerprint(self.rules, secret)}]"
            self.secrets[secret] = marker
            self.log.append((secret, kind, rule))
            self.replaced += 1
            pieces += text[done:start], marker
            done = end
        return "".join([*pieces, text[done:]])

    def entry(self, key: str, item: "Any") -> "Any":
        """The value of a dict's entry, read together with its key when the key is a name such as `password`."""
        if isinstance(item, (dict, bool)) or item is None:
            return item
        name = read(key.rpartition(".")[2])
        if isinstance(item, str):
            if (name and not name.is_other) or key.lower().endswith("authorization"):
                prefix = f"{key}='" if '"' in item else f'{key}="'
                text = self(prefix + item)
                if text.startswith(prefix) and text != prefix + item:
                    return text[len(prefix) :]
            return self(item)
        if name is None or name.is_other:
            return item
        if isinstance(item, list):
            return [self.entry(key, child) if isinstance(child, str) else child for child in item]
        number = str(item)
        if name.strict or name.kind != "password" or len(number.lstrip("-")) < 6:
            return item
        return self.replace(number, [(0, len(number), name.kind, f"the value of a telling name, {key}")])

    def echoes(self) -> list[str]:
        """The secrets that are taken out wherever else they stand, without a name near them."""
        if len(self.secrets) != self._known:
            self._known = len(self.secrets)
            self._echoes = [secret for secret in sorted(self.secrets, key=len, reverse=True) if is_echo(secret)][:100]
        return self._echoes

    def echo(self, text: str) -> str:
        """The text without the secrets that were found elsewhere."""
        for secret in self.echoes():
            if secret in text:
                self.replaced += 1
                self.log += [(secret, self.secrets[secret].split(":")[1], AGAIN)] * text.count(secret)
                text = text.replace(secret, self.secrets[secret])
        return text


def _turn(suspect: "Any") -> int:
    turn: int = suspect.turn
    return turn


def _finder(suspect: "Any") -> "Callable[[str], list[Found]] | None":
    """What finds the secrets of a detector in a text: the form of one, or the code of one that reads bytes."""
    if not isinstance(suspect, Detector):

        def find(text: str) -> "list[Found]":
            data = text.encode("utf-8", "surrogatepass")
            found: list[Found] = suspect.find(data)
            if not found or len(data) == len(text):
                return found

            def place(byte: int) -> int:
                return len(data[:byte].decode("utf-8", "surrogatepass"))

            return [(place(start), place(end), kind, rule) for start, end, kind, rule in found]

        return find
    import re

    try:
        pattern = re.compile(suspect.regex)
    except (re.error, OverflowError, RecursionError):
        return None  # one of the user's; `problem` tells

    def search(text: str) -> "list[Found]":
        found: list[Found] = []
        for match in pattern.finditer(text):
            start, end = match.span("secret" if "secret" in pattern.groupindex else 0)
            if start == end or is_redacted(text, start, end):
                continue
            if suspect.judge and not _JUDGES[suspect.judge](match):
                continue
            head = f" that begins with {match['head']}" if "head" in pattern.groupindex else ""
            found.append((start, end, suspect.kind, f"{suspect.rule}{head}"))
        return found

    return search


def fingerprint(rules: "Rules", secret: str) -> str:
    """Ten digits of a hash with this machine's key."""
    key = machine_key.of(rules)
    return blake2b(secret.encode("utf-8", "surrogatepass"), key=key).hexdigest()[:10] if key else "nokey"


def problem(rules: "Rules") -> str | None:
    """What is wrong with config.json, the user's patterns included, and with what is remembered."""
    import re

    problems = list(rules.problems)
    for detector in rules.own:
        try:
            re.compile(detector.regex)
        except (re.error, OverflowError, RecursionError) as error:
            problems.append(f"the regex of {detector.kind!r} is wrong ({error})")
    sentences = [f"{rules.home}/config.json: {', '.join(problems)}."] if problems else []
    sentences += [f"{rules.home}/{problem}." for problem in rules.memory_problems]
    return " ".join(sentences) or None


def is_redacted(text: str, start: int, end: int) -> bool:
    """Whether an earlier cleaning was here: the `password:ab12cd34ef` it left is no assignment.

    Only a whole marker counts: what is left of a cut one must not shield what follows it.
    """
    opened = text.rfind("[redacted:", max(0, start - 64), end)
    if opened < 0:
        return False
    closed = text.find("]", opened, opened + 72)
    inside = text[opened + 10 : closed]
    whole = closed >= 0 and inside.replace("-", "").replace(":", "").isalnum() and inside.isascii()
    return whole and closed >= start


def _judge_token(match: "re.Match[str]") -> bool:
    text, start, low = match.string, match.start(), match[0].lower()
    words = match[0] == low and not has_digit(low)
    return not _is_inside(text, start) and not words and not is_repetitive(low) and "your" not in low[:24]


def _judge_weak_token(match: "re.Match[str]") -> bool:
    rest = match[0][len(match["head"]) :]
    shuffled = not rest.lower().strip("0123456789abcdef-") or looks_random(rest)
    return shuffled and has_digit(rest) and _judge_token(match)


def _is_inside(text: str, start: int) -> bool:
    """Whether it stands inside a longer word, and not after an escape (\\n, \\u4e2d, %3D) or a colour."""
    before = text[start - 1 : start]
    if not (before.isascii() and before.isalnum()):
        return False
    escape, sign = text[max(0, start - 2) : start], text[max(0, start - 6) : start]
    if escape in ("\\n", "\\r", "\\t") or sign[:2] == "\\u" or sign[-3:-2] == "%":
        return False
    colour = text[max(0, start - 16) : start].rpartition("[")
    return not (colour[1] and before == "m" and colour[2][:-1].replace(";", "").isdigit())


_JUDGES: "dict[str, Callable[[re.Match[str]], bool]]" = {
    "token": _judge_token,
    "weak": _judge_weak_token,
    "inner": _judge_token,
}
