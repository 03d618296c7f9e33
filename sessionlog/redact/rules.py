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

    from sessionlog.redact.detector import Detector

    Found = tuple[int, int, str, str]  # a secret: where it begins and ends, its kind, the rule that found it


# An event without secrets must cost next to nothing, and `import re` alone nearly doubles the time of the hook. So the
# raw bytes are searched first, and only the detectors with a suspicion are imported and run. A wrong suspicion is slow,
# a missed one is a leak: where in doubt, suspect. What JSON may but need not escape (`=` as `\u003d`) is not seen; the
# client escapes nothing of the kind.


class Rules:
    """What to redact in the archive of the folder `home`: what we know, and what its config.json adds or allows."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.enabled = True
        self.allow: frozenset[str] = frozenset()
        self.own: list[Any] = []
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
        if chosen.patterns:
            from sessionlog.redact.detector import Detector

            self.own = [Detector(kind, regex, (needle,) if needle else ()) for kind, regex, needle in chosen.patterns]
        self.problems = chosen.problems

    def suspects(self, data: bytes, of_many: bool = False) -> "tuple[Detector, ...]":
        """The detectors worth running on a payload, by its raw bytes: as a rule none, and nothing more is imported.

        `of_many`: the payloads of many events, or other texts in any order, to find out whether to look at each.
        """
        named = [detector for detector in self.named if detector.suspects(data)]
        if not self.enabled:
            return tuple(named)
        own = [detector for detector in self.own if detector.suspects(data)]
        return (*named, *own, *_suspected(data, of_many))

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
_ALL = bytes(range(256))
NO_DIGITS = _ALL.translate(None, DIGITS)

# A search costs 0.15 ms in 200 KB, so one serves several names: in a copy of the payload where some letters are alike,
# `secret` reads as `bearer` does, the end of `token` as `key`, and `pwd`, 密 and `://` as the beginning of `password`.
# What is found there is compared with the payload; other letters alike would find too much by chance.
_ALIKE = _ALL.lower().translate(
    bytes.maketrans(b"bcdskw/=\\\xaf\x86\xbb\xa4\xb9\x84\x82tyu:\xe5\xe4\xeb\xe3", b"aaaaaaaaaaaaaaaarnpppppp")
)
_PARTS = {
    b"ken": (b"token", b"kennw"),
    b"den": (b"creden",),
    b"sen": (b"senha", b"contrasen", b"losenor"),
    b"pas": (b"pass",),
}
_FLAGS = frozenset((b" -p", b" -u", b" -P", b" -a", b" -w", b" -k", b" -U", b" -S"))  # of commands
# Names that are rare in code, as languages without letters of their own spell them, and marks of rare places: what is
# sought of them as it reads in the copy, and how they are spelled.
_RARE = (
    (b"ahraoora", (b"chtwoord",)),
    (b"healo", (b"heslo",)),
    (b"parola", (b"parola",)),
    (b"gangaaoae", (b"gangskode", b"gangscode")),
    (b"aanai", (b"sandi",)),
    (b"alave", (b"clave",)),
    (b"-paer", (b"-user ", b"-user=")),
    (b"enrifiea an ", (b"entified by ",)),
)
_MARKS = frozenset((b"-paer", b"enrifiea an "))
_ASIAN = (  # トークン, シークレ, 암호 and 토큰; 密, 令, ス and 비 are sought below
    (0xE3, b"\xe3\x83\x88\xe3\x83\xbc\xe3\x82\xaf\xe3\x83\xb3"),
    (0xE3, b"\xe3\x82\xb7\xe3\x83\xbc\xe3\x82\xaf\xe3\x83\xac"),
    (0xEC, b"\xec\x95\x94\xed\x98\xb8"),
    (0xED, b"\xed\x86\xa0\xed\x81\xb0"),
)
# The first bytes of letters that English does not have, but for those of Chinese, Japanese and Korean.
_LETTERS = b"\xc3\xc4\xc5\xce\xd0\xd7\xd8\xd9\xe0\xe1"
# A command stands at the beginning of its event, and so does the first escaped character of a client that escapes any:
# a search in all of 200 KB would cost 0.2 ms. Where many events are searched together, all is searched.
_SMALL, _BEGINNING, _RARE_BEGINNING = 131072, 16384, 4096
_SOUGHT = (
    # 密 令 ス 비; :\/ in JSON
    (b"paa", frozenset(b"pas pwd pw= psk :// :\\/ :\\\\ \xe5\xaf\x86 \xe4\xbb\xa4 \xe3\x82\xb9 \xeb\xb9\x84".split())),
    (b"aearer", (b"secret", b"bearer")),
    (b"aen", (b"key", b"ken", b"sen", b"den")),  # the ends of token, senha, credential
    (b"aprh", (b"auth",)),
)
_AFTER_COUNTS = (b",", b"}")

# The tokens of providers are sought only where they can be: in runs of 20 or more letters, digits and the few signs
# that occur in them, each once, and not in the many ids in hexadecimal. A run over 16 KB is an image or the like.
_IN_RUNS = LETTERS + DIGITS + SEPARATORS
_NOT_IN_RUNS = _ALL.translate(None, _IN_RUNS)
_RUN_MASK = bytes.maketrans(_IN_RUNS + _NOT_IN_RUNS, b"a" * len(_IN_RUNS) + b" " * len(_NOT_IN_RUNS))
_LONG = b"a" * 20
_LONGEST = 16384
_BEFORE_RUNS = frozenset(b"\\[;%$")
_CASES = bytes.maketrans(LETTERS + DIGITS, b"A" * 26 + b"a" * 26 + b"0" * 10)
_TIME = b"0000-00-00A00:00:00.000A"  # each line of a transcript has one
_BEFORE_KEY = frozenset(IDENTIFIER + b"?&")
_IN_BARE = (b"!", b"#", b"$", b"%", b"*", b"+", b"-", b"/", b":", b"?", b"@", b"^", b"~")
_SECRET_KEYS = (b"private ", b"api ", b"secret ", b"access ", b"aes ", b"signing ", b"ryption ")
_CURLY = (b"\xe2\x80\x98", b"\xe2\x80\x99", b"\xe2\x80\x9c", b"\xe2\x80\x9d", b"\xc2\xab", b"\xc2\xbb")  # ‘ ’ “ ” « »
_LINE_ENDS = (b"\\n", b"\\r")
_AFTER_WORDS = (b"", b'"', b"'", b"(", b"\\")
_EMPTY = (b"[]", b"{}", b"()")
_WHOSE = frozenset((b"for", b"of", b"on", b"to"))  # the password for the test server is x
_SAYS = frozenset(b"is lautet ist es est As AS as".split())  # also: Dim password As String = "x"
_TO_CODE = bytes.maketrans(_NOT_IN_RUNS + b"-~/+:", b" " * (len(_NOT_IN_RUNS) + 5))
_CLASSES = bytes.maketrans(LETTERS + DIGITS, b"a" * 52 + b"0" * 10)
_TO_WORDS = bytes.maketrans(SEPARATORS, b" " * len(SEPARATORS))
_OUR_IDS = (b"toolu_", b"msg_", b"req_")  # of the client, in nearly every event


def _suspected(data: bytes, of_many: bool) -> "list[Any]":
    """What the built-in rules suspect."""
    found: list[Any] = []
    beginning = len(data) if of_many or len(data) <= _SMALL else _BEGINNING
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
        if mixed or 36 in joined or joined.find(b":5432:") >= 0:  # $
            from sessionlog.redact import nearby

            found += nearby.suspected(data, runs)
    names = sights(data, of_many)
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


def has_digits(text: bytes) -> bool:
    """Whether there is a digit in the text."""
    return len(text.translate(None, NO_DIGITS)) > 0


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
    runs = [
        run
        for run, case in zip(runs, cases)  # noqa: B905
        if case != _TIME and (case.count(b"0") > 1 or 5 * case.count(b"A") >= len(case))
    ]
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


def sights(data: bytes, of_many: bool = False) -> list[int]:
    """Where names stand in the payload that are given something, and where URLs have more than a host."""
    places = []
    alike = data.translate(_ALIKE)
    for sought, anchors in _SOUGHT:
        size = len(sought)
        at = alike.find(sought)
        while at >= 0:
            word = data[at : at + size].lower()
            if word == b"key" and data[at - 1] not in _BEFORE_KEY:
                # That of a dict, say: random values near it are found all the same. But not `API key` and the like.
                if data[at - 1] == 32 and data[max(0, at - 8) : at].lower().endswith(_SECRET_KEYS):
                    places.append(at)
            elif word == b"ken" and _is_count(data, at + 3):
                pass
            elif (
                word in anchors
                and (word not in _PARTS or _is_part(data, at, word))
                and _is_given_something(data, at, at + size)
            ):
                places.append(at)
            at = alike.find(sought, at + 1)
    beginning = len(data) if of_many or len(data) <= _SMALL else _BEGINNING
    at = alike.find(b" -", 0, beginning)
    while at >= 0:
        if data[at : at + 3] in _FLAGS:
            places.append(at)
        at = alike.find(b" -", at + 2, beginning)
    # What is rare is sought in the beginning, and in all of a text with letters that English does not have.
    beginning = len(data) if of_many or len(data) <= _BEGINNING else _RARE_BEGINNING
    if not data.isascii():
        head = data if of_many else data[:_BEGINNING]
        if any([lead in head for lead in _LETTERS]):
            from sessionlog.redact import foreign_names

            places += foreign_names.places(data)
            beginning = len(data)
        for lead, name in _ASIAN:
            at = data.find(name, 0, beginning) if lead in head else -1
            while at >= 0:
                places.append(at)
                at = data.find(name, at + 1, beginning)
    for sought, spelled in _RARE:
        at = alike.find(sought, 0, beginning)
        while at >= 0:
            end = at + len(spelled[0])
            if data[at:end].lower() in spelled and (sought in _MARKS or _is_given_something(data, at, end)):
                places.append(at)
            at = alike.find(sought, at + 1, beginning)
    return places


def _is_count(data: bytes, end: int) -> bool:
    """Whether this ends "input_tokens":42 or the like. Each answer in a transcript has some of them."""
    return data[end : end + 3] == b's":' and data[end + 3 : end + 24].lstrip(DIGITS)[:1] in _AFTER_COUNTS


def _is_part(data: bytes, at: int, word: bytes) -> bool:
    """Whether the word around it is one of those meant: token and not broken, password and not passive."""
    around = data[max(0, at - 7) : at + 5].lower()
    if word == b"pas" and around[-1] in b"ei" and data[at + 5 : at + 6].isalpha():  # but: mot de passe
        return False
    return any([around.find(whole) >= 0 for whole in _PARTS[word]])


def is_marker(data: bytes, start: int, end: int) -> bool:
    """Whether the name is the kind in what an earlier cleaning left, and that is whole: [redacted:token:0123456789]."""
    return (
        data[start - 10 : start] == b"[redacted:"
        and data[end : end + 1] == b":"
        and 0 < data.find(b"]", end, end + 12) - end < 12
    )


def _is_given_something(data: bytes, start: int, end: int) -> bool:
    """Whether it is worth a look: by far the most names are not.

    Signs are sought as numbers: `b"x" in data` makes and drops an exception each time.
    """
    first = data[start]
    if first == 58:  # a colon
        return 64 in data[end : end + 256].lstrip(b"\\/").partition(b"/")[0]  # @
    if first > 127 or data[end - 1] == 61 or data[end : end + 9].lower() == b"orization":  # pw=
        return True
    rest = data[end : end + 96]
    tail, rest = rest, rest.lstrip(IDENTIFIER)
    tail = tail[: len(tail) - len(rest)]
    if len(tail) > 16 and len(tail.translate(None, NO_DIGITS)) > 2:  # acme-token-0f3a…
        return True
    if len(tail) > 9 and tail.endswith(b"-stdin"):  # echo x | docker login --password-stdin
        return True
    if not rest:
        return False
    sign = rest[0]
    if sign in b"().,;":
        if sign == 44:  # -define(PASSWORD, "x")
            return data[start:end].isupper() and has_digits(rest[:40])
        return sign == 40 and first in b"aAdD" and rest[1:3].strip(b"\\\"'") != rest[1:3] and 44 in rest
    if sign in b"\r\n" or rest[:2] in _LINE_ENDS:
        follows = rest.lstrip(b"\\nr\n\r \t\"'-")
        return (
            follows[:5].lower() == b"value" or data[start - 6 : start] == b"kind: " or data[start - 2 : start] == b"ch"
        )
    if sign == 91 and rest.find(b"] = ", 0, 10) < 0:  # an item of a list, and not: char password[64] = "x"
        return False
    signs, rest = rest, rest.lstrip(b"\\\"'`*]} \t")
    value = rest.lstrip(b"=:>?+|<-, \t")
    if len(value) == len(rest) and rest[:2] != b".=":  # nothing but blanks and quotes between the two
        quoted = sign in b" \t" and signs[: len(signs) - len(rest)].strip() != b""
        word, _, after = value.partition(b" ")
        if word in _SAYS:
            word, _, after = after.partition(b" ")
        return (
            quoted
            or has_digits(word)
            or after[:1] == b"="  # var token string = "x"
            or word.startswith(_CURLY)
            or (word[:1] == b"{" and value.find(b"default", 0, 40) > 0)  # of Terraform
            or (data[start - 1] in b"<:" and 62 in rest)  # <password type="x">
            or (word in _WHOSE and after.find(b" is ", 0, 40) >= 0)
        )
    if rest[:1] == b",":  # setProperty("token", "x")
        return has_digits(value[:40])
    if not value[:1].isalpha() and value[:1] != b"_":
        if value[:2] in _LINE_ENDS and rest[:1] != b">":
            return has_digits(value.lstrip(b"\\nr \t-")[:24])
        return value[:2] not in _EMPTY
    # A bare word without digits is code, if it is no type, and if the name is none of a shell's.
    value = value.removeprefix(b"new ")
    word = value.translate(_TO_CODE).partition(b" ")[0]
    after = value[len(word) :].lstrip(b" \t|&?<>[]")[:2]
    if after[:1] == b"(":  # a call is not looked into, but for a text with digits in it
        inside = value[len(word) : len(word) + 40]
        return inside[:1] == b"(" and inside[1:3].strip(b"\\\"'") != inside[1:3] and has_digits(inside)
    if value[len(word) : len(word) + 1] in _AFTER_WORDS and value[len(word) : len(word) + 2] not in _LINE_ENDS:
        return True
    if (
        not word.translate(None, b"_.").isalpha()
        or (after[:1] == b"=" and after != b"==")
        or value.find(b" = ", 0, 40) >= 0
    ):
        return True
    if value[len(word) : len(word) + 1] in _IN_BARE:  # pat-na1-…, P@ssw0rd
        return True
    return (
        data[start:end].isupper()
        or not (word.islower() or word.istitle())
        or tail[:7].lower() == b"sphrase"
        or data[start - 2 : start] == b"ht"
    )
