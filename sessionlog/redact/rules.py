"""Takes secrets out of an event before it is written, and leaves fingerprints that only this machine can compute.

Here is what every event pays for: a cheap test for secrets. The rest is imported only on suspicion: token_forms.py
(what tokens look like), assignments.py and secret_names.py (names and their values), nearby.py (random values near
telling names), heuristics.py (secret or not), replace.py (replacing).
"""

try:
    from posix import access
except ImportError:  # Windows
    from os import access

from sessionlog.redact.token_heads import HEADS_4, WEAK_WORDS, WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Found = tuple[int, int, str, str]  # a secret: where it begins and ends, its kind, the rule that found it


# An event without secrets must cost next to nothing, and `import re` alone nearly doubles the time of the hook. So the
# raw bytes are searched first, and only the detectors with a suspicion are imported and run. A wrong suspicion is slow,
# a missed one is a leak: where in doubt, suspect. What JSON may but need not escape (`=` as `\u003d`) is not seen; the
# client escapes nothing of the kind.


class Detector:
    """A kind of secret with a form: how to suspect it in raw bytes, and how to find it in text.

    The secret is the group `secret` of the regex, or the whole match when there is no such group. `judge` names the one
    in cleaning.py that has the last word on a match.
    """

    __slots__ = ("judge", "kind", "needles", "regex", "rule", "turn")

    def __init__(
        self,
        kind: str,
        regex: str,
        needles: tuple[bytes, ...] = (),
        judge: str | None = None,
        rule: str = "a pattern of your own",
        turn: int = 0,
    ) -> None:
        self.kind, self.regex, self.needles, self.judge, self.rule = kind, regex, needles, judge, rule
        self.turn = turn  # private keys go before the tokens in them, tokens before what their names tell

    def suspects(self, data: bytes) -> bool:
        """Whether the secret may be there: one of the needles is, or there are none."""
        return not self.needles or any(needle in data for needle in self.needles)


class Rules:
    """What to redact in the archive of the folder `home`: what we know, and what its config.json adds or allows."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.enabled = True
        self.allow: frozenset[str] = frozenset()
        self.own: list[Detector] = []
        self.problems: list[str] = []
        self.config = b""  # what stands in config.json, for those who read other sections
        self.key: bytes | None = None  # of the fingerprints; read on first need
        # What a person named, to be gone for good: found also where redaction is off, and in numbers.
        self.named: tuple[Any, ...] = ()
        self.memory_problems: list[str] = []
        if access(f"{home}/remembered.json", 0):  # is it there? `lstat` would cost an exception
            from sessionlog.redact import remembered

            self.named = remembered.detectors(home, self.memory_problems)
        if not access(f"{home}/config.json", 0):
            return
        from sessionlog import config

        content, problem = config.read(home)
        if problem:
            self.problems.append(problem)
            return
        self.config = content
        chosen = config.Redaction(content)
        self.enabled = chosen.enabled
        named = [value for value in chosen.allow if self._is_named(value)] if self.named else ()
        self.allow = frozenset(chosen.allow).difference(named)
        self.own = [Detector(kind, regex, (needle,) if needle else ()) for kind, regex, needle in chosen.patterns]
        self.problems = chosen.problems

    def suspects(self, data: bytes) -> "tuple[Detector, ...]":
        """The detectors worth running on a payload, by its raw bytes: as a rule none, and nothing more is imported."""
        named = [detector for detector in self.named if detector.suspects(data)]
        if not self.enabled:
            return tuple(named)
        own = [detector for detector in self.own if detector.suspects(data)]
        return (*named, *own, *_suspected(data))

    def clean(self, value: "Any", suspects: "tuple[Detector, ...]") -> "Any":
        """The parsed JSON value without its secrets; dicts and lists are changed in place."""
        if not suspects:
            return value
        from sessionlog.redact import replace

        value = replace.clean(value, replace.Redactor(self, suspects))
        named = tuple([detector for detector in suspects if detector in self.named])
        return replace.clean_numbers(value, replace.Redactor(self, named)) if named else value

    def clean_text(self, text: str, suspects: "tuple[Detector, ...]") -> str:
        """The text of a payload that is not JSON, without its secrets."""
        if not suspects:
            return text
        from sessionlog.redact import replace

        return replace.clean_text(text, replace.Redactor(self, suspects))

    def fingerprint(self, secret: str) -> str:
        """The same ten digits for the same secret; nobody without this machine's key can try guesses against them."""
        from sessionlog.redact import replace

        return replace.fingerprint(self, secret)

    def _is_named(self, value: str) -> bool:
        data = value.encode("utf-8", "surrogatepass")
        return any([detector.suspects(data) for detector in self.named if detector.kind == "value"])

    @property
    def problem(self) -> str | None:
        """What is wrong with config.json and remembered.json. It compiles the user's patterns: not for the hot path."""
        from sessionlog.redact import replace

        return replace.problem(self)


# --- The cheap test ---------------------------------------------------------------------------------------------------

DIGITS = b"0123456789"
LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
IDENTIFIER = LETTERS + DIGITS + b"_-"
SEPARATORS = b"_-.~/+:"
HEXADECIMAL = b"0123456789abcdef-"
NO_DIGITS = bytes(range(256)).translate(None, DIGITS)

# A search costs 0.15 ms in 200 KB, so one serves several names: in a copy of the payload where some letters are alike,
# `secret` reads as `bearer` does, the end of `token` as `key`, and `pwd`, 密 and `://` as the beginning of `password`.
# What is found there is compared with the payload; other letters alike would find too much by chance.
_ALIKE = bytes(range(256)).lower()
_ALIKE = _ALIKE.translate(
    bytes.maketrans(b"bcdskw/=\\\xaf\x86\xbb\xa4\xb9\x84\x82ty\xc3u:\xe5\xe4\xeb\xe3", b"aaaaaaaaaaaaaaaarnnpppppp")
)
_ANCHORS = (
    b"pas pwd pw= :// :\\/ :\\\\ \xe5\xaf\x86 \xe4\xbb\xa4 \xe3\x82\xb9 \xeb\xb9\x84",  # 密 令 ス 비; :\/ in JSON
    b"secret bearer",
    b"key ken sen se\xc3 den",  # the ends of token, senha, contraseña, credential
    b"auth",
)
_PARTS = {
    b"ken": (b"token", b"kennw"),
    b"den": (b"creden",),
    b"sen": (b"senha", b"contrasen"),
    b"se\xc3": (b"contrase",),
    b"pas": (b"pass",),
}
_FLAGS = frozenset((b" -p", b" -u", b" -P"))  # of commands
# A command stands at the beginning of its event, and so does the first escaped character of a client that escapes any:
# a search in all of 200 KB would cost 0.2 ms. Up to 128 KB, all is searched, as transcripts are read in such pieces.
_SMALL, _BEGINNING = 131072, 16384
_SOUGHT = {anchors.split()[0].translate(_ALIKE): frozenset(anchors.split()) for anchors in _ANCHORS}
_RUSSIAN = tuple([name.encode() for name in ("арол", "окен", "екрет")])  # ends of пароль, токен, секрет
_ENOUGH = 5000  # names in one payload; one with more is suspect without a look at each

# The tokens of providers are sought only where they can be: in runs of 20 or more letters, digits and the few signs
# that occur in them, each once, and not in the many ids in hexadecimal. A run over 16 KB is an image or the like.
_IN_RUNS = LETTERS + DIGITS + SEPARATORS
_NOT_IN_RUNS = bytes(range(256)).translate(None, _IN_RUNS)
_RUN_MASK = bytes.maketrans(_IN_RUNS + _NOT_IN_RUNS, b"a" * len(_IN_RUNS) + b" " * len(_NOT_IN_RUNS))
_LONG = b"a" * 20
_LONGEST = 16384
_BEFORE_RUNS = frozenset(b"\\[;%$")
_CASES = bytes.maketrans(LETTERS + DIGITS, b"A" * 26 + b"a" * 26 + b"0" * 10)
_BEFORE_KEY = frozenset(IDENTIFIER + b"?&")
_IN_BARE = tuple([bytes((sign,)) for sign in b"!#$%*+-/:?@^~"])
_SECRET_KEYS = (b"private ", b"api ", b"secret ", b"access ")
_LINE_ENDS = (b"\\n", b"\\r")
_WHOSE = frozenset((b"for", b"of", b"on", b"to"))  # the password for the test server is x
_TO_CODE = bytes.maketrans(_NOT_IN_RUNS + b"-~/+:", b" " * (len(_NOT_IN_RUNS) + 5))
_CLASSES = bytes.maketrans(LETTERS + DIGITS, b"a" * 52 + b"0" * 10)
_TO_WORDS = bytes.maketrans(SEPARATORS, b" " * len(SEPARATORS))
_OUR_IDS = (b"toolu_", b"msg_", b"req_")  # of the client, in nearly every event


def _suspected(data: bytes) -> "list[Any]":
    """What the built-in rules suspect."""
    found: list[Any] = []
    beginning = len(data) if len(data) <= _SMALL else _BEGINNING
    if data.find(b"\\u", 0, beginning) >= 0:
        from sessionlog.redact import unescape

        data = unescape.characters(data)
    runs = long_runs(data)
    if runs:
        joined = b" ".join(runs)
        words = {*joined.translate(_TO_WORDS).split()}
        mixed = any([len(word) > 9 and is_mixed(word) for word in words])
        if (
            mixed
            or max(map(len, words)) > 63
            or not WORDS.isdisjoint(words)
            or not HEADS_4.isdisjoint([word[:4] for word in words])
            or not WEAK_WORDS.isdisjoint([run.translate(_TO_WORDS).partition(b" ")[0] for run in runs if len(run) > 31])
        ):
            from sessionlog.redact import token_forms

            found += token_forms.suspected(joined)
        if mixed or b"$" in joined or b":5432:" in joined:
            from sessionlog.redact import nearby

            found += nearby.suspected(data, runs)
    names = sights(data)
    if names:
        from sessionlog.redact import assignments

        found += assignments.suspected(data, names)
    return found


def is_mixed(word: bytes) -> bool:
    """Letters and digits mixed, and no hexadecimal id."""
    if len(word.translate(None, NO_DIGITS)) < 2 or not word.strip(HEXADECIMAL):
        return False
    classes = word.translate(_CLASSES)
    return classes.count(b"a0") + classes.count(b"0a") > 2


def long_runs(data: bytes) -> list[bytes]:
    """The long runs that may hold a token, each once, without what an escape or a colour left at its beginning."""
    mask = data.translate(_RUN_MASK)
    seen = set()
    start = mask.find(_LONG)
    while start >= 0:
        end = mask.find(b" ", start)
        end = len(mask) if end < 0 else end
        if end - start <= _LONGEST and (end - start < 100 or data[start - 12 : start - 3] != b"signature"):
            seen.add(data[start:end])
            if start and data[start - 1] in _BEFORE_RUNS:
                seen.add(_without_escape(data[start - 1 : end]))
        start = mask.find(_LONG, end)
    if not seen:
        return []
    runs = [*seen]
    cases = b" ".join(runs).translate(_CASES).split(b" ")  # one call for all: each builds a table
    runs = [run for run, case in zip(runs, cases) if case.count(b"0") > 1 or 5 * case.count(b"A") >= len(case)]  # noqa: B905
    return [run for run in runs if run.strip(HEXADECIMAL) and not run.startswith(_OUR_IDS)]


def _without_escape(run: bytes) -> bytes:
    r"""What follows \n, \u4e2d, the colour [32m or %3D; after $, it may be the hash of a password."""
    if run[:1] == b"$":
        return run
    if run[:1] == b"%":
        return run[3:]
    if run[:1] in b"[;":
        return run[1:].lstrip(DIGITS).removeprefix(b"m")
    return run[6:] if run[1:2] == b"u" else run[2:]


def sights(data: bytes) -> list[int]:
    """Where names stand in the payload that are given something, and where URLs have more than a host."""
    places = []
    alike = data.translate(_ALIKE)
    for sought, anchors in _SOUGHT.items():
        size = len(sought)
        at = alike.find(sought)
        while at >= 0:
            word = data[at : at + size].lower()
            if word == b"key" and data[at - 1] not in _BEFORE_KEY:
                # That of a dict, say: random values near it are found all the same. But not `API key` and the like.
                if data[at - 1] == 32 and data[max(0, at - 8) : at].lower().endswith(_SECRET_KEYS):
                    places.append(at)
            elif (
                word in anchors
                and (word not in _PARTS or _is_part(data, at, word))
                and _is_given_something(data, at, at + size)
            ):
                places.append(at)
            at = alike.find(sought, at + 1)
    beginning = len(data) if len(data) <= _SMALL else _BEGINNING
    at = alike.find(b" -p", 0, beginning)
    while at >= 0:
        if data[at : at + 3] in _FLAGS:
            places.append(at)
        at = alike.find(b" -p", at + 3, beginning)
    if b"\xd0" in data:
        for name in _RUSSIAN:
            at = data.find(name)
            while at >= 0:
                places.append(at)
                at = data.find(name, at + 1)
    return places


def _is_part(data: bytes, at: int, word: bytes) -> bool:
    """Whether the word around it is one of those meant: token and not broken, password and not passive."""
    around = data[max(0, at - 7) : at + 5].lower()
    if word == b"pas" and around[-1:] in b"ei" and b"de pass" not in around:
        return False
    return any([whole in around for whole in _PARTS[word]])


def is_marker(data: bytes, start: int, end: int) -> bool:
    """Whether the name is the kind in what an earlier cleaning left, and that is whole: [redacted:token:0123456789]."""
    return (
        data[start - 10 : start] == b"[redacted:"
        and data[end : end + 1] == b":"
        and 0 < data.find(b"]", end, end + 12) - end < 12
    )


def _is_given_something(data: bytes, start: int, end: int) -> bool:
    """Whether it is worth a look: by far the most names are not."""
    first = data[start]
    if first == 58:  # a colon
        return b"@" in data[end : end + 256].lstrip(b"\\/").partition(b"/")[0]
    if first > 127 or data[end - 1] in b"=\xc3" or data[end : end + 9].lower() == b"orization":  # pw=, contraseña
        return True
    rest = data[end : end + 96]
    tail, rest = rest, rest.lstrip(IDENTIFIER)
    tail = tail[: len(tail) - len(rest)]
    if len(tail) > 16 and len(tail.translate(None, NO_DIGITS)) > 2:  # acme-token-0f3a…
        return True
    if not rest or rest[:1] in b"().,;":
        return False
    if rest[:1] in b"\r\n" or rest[:2] in _LINE_ENDS:
        return rest.lstrip(b"\\nr\n\r \t\"'-")[:5].lower() == b"value"
    signs, rest = rest, rest.lstrip(b"\\\"'`*]} \t")
    value = rest.lstrip(b"=:>?+|<-, \t")
    if len(value) == len(rest) and rest[:2] != b".=":  # nothing but blanks and quotes between the two
        quoted = signs[:1] in b" \t" and signs[: len(signs) - len(rest)].strip() != b""
        word, _, after = value.removeprefix(b"is ").partition(b" ")
        return (
            quoted
            or len(word.translate(None, NO_DIGITS)) > 0
            or after[:1] == b"="  # var token string = "x"
            or (word in _WHOSE and b" is " in after[:40])
        )
    if rest[:1] == b",":  # setProperty("token", "x")
        return len(value[:40].translate(None, NO_DIGITS)) > 0
    if not value[:1].isalpha():
        return True
    # A bare word without digits is code, if it is no type, and if the name is none of a shell's.
    word = value.translate(_TO_CODE).partition(b" ")[0]
    after = value[len(word) :].lstrip(b" \t|&?<>[]")[:2]
    if after[:1] == b"(" or value[len(word) : len(word) + 1] in b"\"'(\\":
        return after[:1] != b"("
    if not word.translate(None, b"_.").isalpha() or (after[:1] == b"=" and after != b"==") or b" = " in value[:40]:
        return True
    if value[len(word) : len(word) + 1] in _IN_BARE:  # pat-na1-…, P@ssw0rd
        return True
    return data[start:end].isupper() or not (word.islower() or word.istitle()) or tail[:7].lower() == b"sphrase"
