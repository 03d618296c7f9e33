"""Takes secrets out of an event before it is written, and leaves fingerprints that only this machine can compute.

Here is what every event pays for: what secrets look like, and a cheap test for them. The rest is in plausible.py and
cleaning.py.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, Final

    Haystack = tuple[bytes, dict[bytes, list[int]], bytes]

# An event without secrets must cost next to nothing, and `import re` alone nearly doubles the time of the hook. So the
# raw bytes are searched first, and only the detectors with a suspicion are compiled and run. A wrong suspicion is slow,
# a missed one is a leak: where in doubt, suspect. What JSON may but need not escape (`=` as `\u003d`) is not seen; the
# client escapes nothing of the kind.

# Tokens with a form of their own: kind, what to search for, the form. Nothing may be demanded after an open end such as
# {20,}: a form that fails only there would be tried again from every needle, in time that grows with the square.
_TOKENS = (
    ("alibaba-key", b"LTAI", r"LTAI[A-Za-z0-9]{16,26}(?!\w)"),
    ("anthropic-key", b"sk-ant-", r"sk-ant-[\w-]{20,}"),
    ("age-key", b"AGE-SECRET-KEY-", r"AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{50,}"),
    ("atlassian-token", b"ATATT3", r"ATATT3[\w=-]{60,}"),
    ("aws-access-key", b"AKIA ASIA", r"A[KS]IA[A-Z0-9]{16}(?!\w)"),
    ("azure-secret", b"Q~", r"[\w.~-]{3}\dQ~[\w.~-]{31,34}(?![\w~-])"),
    ("databricks-token", b"dapi", r"dapi[0-9a-f]{32}(?:-\d)?(?!\w)"),
    ("digitalocean-token", b"_v1_", r"do[opr]_v1_[0-9a-f]{64}(?!\w)"),
    ("discord-webhook", b"/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d+/(?P<secret>[\w-]{60,})"),
    ("docker-token", b"dckr_", r"dckr_[a-z]{3}_[\w-]{20,}"),
    ("figma-token", b"figd_", r"figd_[\w-]{30,}"),
    ("github-token", b"ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"(?:gh[pousr]|github_pat)_\w{36,}(?:\.[\w-]{20,})*"),
    ("gitlab-token", b"glpat- gldt- glrt- glptt-", r"gl(?:pat|dt|rt|ptt)-[\w.-]{20,}"),
    ("google-key", b"AIza", r"AIza[\w-]{35}(?![\w-])"),
    ("google-oauth-secret", b"GOCSPX-", r"GOCSPX-[\w-]{24,}"),
    ("google-oauth-token", b"ya29.", r"ya29\.[\w.-]{20,}"),
    ("grafana-token", b"glsa_ glc_", r"gl(?:sa|c)_[\w+/]{32,}"),
    ("groq-key", b"gsk_", r"gsk_[A-Za-z0-9]{40,}"),
    ("huggingface-token", b"hf_", r"hf_[A-Za-z0-9]{30,}"),
    ("linear-key", b"lin_api_", r"lin_api_[A-Za-z0-9]{32,}"),
    ("notion-token", b"ntn_", r"ntn_[A-Za-z0-9]{40,}"),
    ("npm-token", b"npm_", r"npm_[A-Za-z0-9]{36,}"),
    ("nvidia-key", b"nvapi-", r"nvapi-[\w-]{60,}"),
    ("openai-key", b"sk-", r"sk-(?:(?:proj|svcacct|admin)-[\w-]{20,}|[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20,})"),
    ("perplexity-key", b"pplx-", r"pplx-[A-Za-z0-9]{40,}"),
    ("pypi-token", b"pypi-AgE", r"pypi-AgE[\w-]{50,}"),
    ("replicate-token", b"r8_", r"r8_[A-Za-z0-9]{36,}"),
    ("rubygems-key", b"rubygems_", r"rubygems_[0-9a-f]{48}(?!\w)"),
    ("sendgrid-key", b"SG.", r"SG\.[\w-]{22}\.[\w-]{43}(?![\w-])"),
    ("sentry-token", b"sntry", r"sntry[su]_[\w+/=]{40,}"),
    ("shopify-token", b"shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}(?!\w)"),
    ("sk-key", b"sk-", r"sk-(?:or-v\d-)?[A-Za-z0-9]{32,}"),  # DeepSeek, Moonshot, OpenRouter, Qwen and others
    ("slack-token", b"xox xapp-", r"(?:xox[a-z](?:\.xox[a-z])?|xapp)-[\w%-]{16,}"),
    ("slack-webhook", b"hooks.slack.com/", r"hooks\.slack\.com/[a-z]+/(?P<secret>[\w/+-]{20,})"),
    ("stripe-key", b"k_live_ k_test_ whsec_", r"(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9+/]{16,}"),
    ("supabase-key", b"sb_secret_ sbp_", r"sb_secret_[\w-]{20,}|sbp_[0-9a-f]{40}(?!\w)"),
    ("telegram-token", b":AA", r"\d{8,10}:AA[\w-]{33}(?![\w-])"),
    ("tencent-key", b"AKID", r"AKID[A-Za-z0-9]{32}(?!\w)"),
    ("twilio-key", b"SK0 SK1 SK2 SK3 SK4 SK5 SK6 SK7 SK8 SK9 SKa SKb SKc SKd SKe SKf", r"SK[0-9a-f]{32}(?!\w)"),
    ("vault-token", b"hvs. hvb.", r"hv[sb]\.[\w-]{24,}"),
    ("xai-key", b"xai-", r"xai-[A-Za-z0-9]{60,}"),
    # A private key once more, as base64 in a kubeconfig.
    (
        "private-key",
        b"LS0tLS1CRUdJTi",
        r"LS0tLS1CRUdJTiB(?:SU0EgUF|QUklWQV|FQyBQUk|PUEVOU1|FTkNSWV)[A-Za-z0-9+/]{40,}=*",
    ),
    # The boundary stands inside: without it "eyJeyJeyJ…" would be read to its end from every eyJ.
    ("jwt", b".eyJ", r"eyJ(?:(?<![\w-]eyJ)|(?<=\\[nrt]eyJ)|(?<=\\u\w{4}eyJ))[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{10,}"),
)

# A truncated block has no end, and source code that only names the header has no key behind it. The key may stand in
# numbered lines, in a diff, in a comment, or in a string with its line ends spelled out.
_MARGIN = r"(?:\s|\\{1,8}[nrt]|\d{1,6}(?:[:|→]|\\u2192)|[\"'`+,>|#*-]){1,40}"
_PRIVATE_KEY = (
    r"(?s)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    rf"(?={_MARGIN}(?:[A-Z][\w-]{{1,30}}: [^\n\\]{{0,200}}{_MARGIN}){{0,4}}[A-Za-z0-9+/=]{{16}})"
    r"(?:.*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|.*)"
)
_AUTHORIZATION = (
    r"(?ai)(?:authorization\\*[\"'`]?\]?[ \t]{0,8}[:=,][ \t]{0,8}\\*[\"'`]?|(?=bearer[ \t]))"
    r"(?:(?P<scheme>[a-z][\w-]{0,30})[ \t]{1,8})?(?P<secret>[\w.~+/:-]{8,}=*)"
)
# (No password, but the form of one.)
_URL_PASSWORD = r"(?a)://[\w!#$%&*+,.;=?~-]*:(?!\d+[?#])(?P<secret>[\w!#$%&*+,.:;=?@^~-]+)@(?!sha256:)"  # noqa: S105

# name = value, name: value, --name value. A bare value ends before the full stop of a sentence.
_ASSIGNMENT = (
    r"(?ai)(?P<name>{})\\*[\"'`*]{{0,2}}[ \t]{{0,8}}(?P<sep>={{1,3}}>?|:=?|：|(?<=[ \t]))[ \t*]{{0,8}}"
    r"(?:[bfru]{{0,2}}(?P<quote>\\*[\"'`]))?"
    r"(?P<secret>(?(quote)(?:(?!(?P=quote))[!-~])+|[!#$%*+\-./0-9:=?@A-Z^_a-z~]*[!#$%*+\-/0-9=?@A-Z^_a-z~]))"
)
_KEYS = ("api", "access", "account", "auth", "encryption", "master", "private", "secret", "signing")
_NAMES = (
    ("password", "password passwd passphrase _pass", "passw(?:or)?d|passphrase|_pass"),
    ("password", "pwd 密码 \\u5bc6\\u7801", "pwd|密码"),
    ("secret", "secret", "secret"),
    ("api-key", "key", f"(?:{'|'.join(_KEYS)})[_-]?key"),
    ("token", "token", "token"),
)

AFTER_CODE = ("(", "[", "{", "<")  # a call, an index, a type
SHORTEST = 6  # what is shorter is no password
DIGITS = "0123456789"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

# Where to search: in the payload, among the places of names in it, in its long runs.
_RAW: "Final" = 0
_SIGHTS: "Final" = 1
_RUNS: "Final" = 2
_ENOUGH = 5000  # occurrences of a needle; a payload with more is suspect without a look at each


class Detector:
    """A kind of secret: how to suspect it in raw bytes, how to find it in text, how to tell it from code.

    The secret is the group `secret` of the regex, or the whole match when there is no such group. `judge` names the one
    in cleaning.py that has the last word on a match.
    """

    __slots__ = ("judge", "kind", "look", "needles", "regex", "where")

    def __init__(
        self,
        kind: str,
        regex: str,
        needles: tuple[bytes, ...],
        where: int = _RAW,
        look: "Callable[[Haystack, int, int], bool] | None" = None,
        judge: str | None = None,
    ) -> None:
        self.kind, self.regex, self.needles = kind, regex, needles
        self.where, self.look, self.judge = where, look, judge

    def suspects(self, haystack: "Haystack") -> bool:
        """Whether the secret may be there: a needle is, and what stands around it does not speak against it."""
        look = self.look
        for needle in self.needles:
            for seen, start in enumerate(_places(haystack, self.where, needle)):
                if look is None or seen >= _ENOUGH or look(haystack, start, start + len(needle)):
                    return True
        return not self.needles


class Rules:
    """What to redact in the archive of the folder `home`: what we know, and what its config.json adds or allows."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.enabled = True
        self.allow: frozenset[str] = frozenset()
        self.own: list[Detector] = []
        self.problems: list[str] = []
        self.key: bytes | None = None  # of the fingerprints; read on first need
        try:
            with open(f"{home}/config.json", "rb") as file:
                config = file.read()
        except FileNotFoundError:
            return
        except OSError as error:
            self.problems.append(f"it cannot be read ({error})")
            return
        from sessionlog import cleaning

        cleaning.configure(self, config)

    def suspects(self, data: bytes) -> tuple[Detector, ...]:
        """The detectors worth running on a payload, by its raw bytes: as a rule none, and nothing more is imported."""
        if not self.enabled:
            return ()
        haystack = data, _sights(data), _long_runs(data)
        return tuple([detector for detector in (*self.own, *BUILT_IN) if detector.suspects(haystack)])

    def clean(self, value: "Any", suspects: tuple[Detector, ...]) -> "Any":
        """The parsed JSON value without its secrets; dicts and lists are changed in place."""
        if not suspects:
            return value
        from sessionlog import cleaning

        return cleaning.clean(value, cleaning.redactor(self, suspects))

    def clean_text(self, text: str, suspects: tuple[Detector, ...]) -> str:
        """The text of a payload that is not JSON, without its secrets."""
        if not suspects:
            return text
        from sessionlog import cleaning

        return cleaning.redactor(self, suspects)(text)

    def fingerprint(self, secret: str) -> str:
        """The same ten digits for the same secret; nobody without this machine's key can try guesses against them."""
        from sessionlog import cleaning

        return cleaning.fingerprint(self, secret)

    @property
    def problem(self) -> str | None:
        """What is wrong with config.json, in one sentence. It compiles the user's patterns: not for the hot path."""
        from sessionlog import cleaning

        return cleaning.problem(self)


# --- The cheap test: what stands around a needle ----------------------------------------------------------------------

# A search costs 0.15 ms in 200 KB, so one serves several names: in a copy of the payload where some letters are alike,
# `secret` reads as `bearer` does, the end of `token` as `key`, and `pwd`, 密 and `://` as the beginning of `password`.
# What is found there is compared with the payload; other letters alike would find too much by chance.
_ALIKE = bytes(range(256)).lower().translate(bytes.maketrans(b"bcdsw/\xaf\x86ty:\xe5", b"aaaaaaaarnpp"))
_ANCHORS = ("pas", "pwd", "://", "密", "\\u5bc6\\u7801", "secret", "bearer", "key", "ken", "authorization")

# The tokens of providers are sought only where they can be: in runs of 20 or more letters, digits and the few signs
# that occur in them, each once, and not in the many ids in hexadecimal. A run over 16 KB is an image or the like.
_IN_RUNS = f"{LETTERS}{DIGITS}_-.~/+:".encode()
_NOT_IN_RUNS = bytes(range(256)).translate(None, _IN_RUNS)
_RUN_MASK = bytes.maketrans(_IN_RUNS + _NOT_IN_RUNS, b"a" * len(_IN_RUNS) + b" " * len(_NOT_IN_RUNS))
_LONG = b"a" * 20
_HEXADECIMAL = b"0123456789abcdef-"

# The bytes of a bare value, of a quoted one, and of a URL up to its path; all others are blanks.
_NO_TEXT = bytes((*range(33), *range(127, 256)))


def _blanking(signs: bytes) -> bytes:
    return bytes.maketrans(_NO_TEXT + signs, b" " * len(_NO_TEXT + signs))


_BARE = _blanking(b"\"&'(),;<>[\\]`{|}")
_QUOTED = _blanking(b"")
_URL = _blanking(b"\"'()/<>[\\]`{|}")


def _long_runs(data: bytes) -> bytes:
    mask = data.translate(_RUN_MASK)
    runs = set()
    start = mask.find(_LONG)
    while start >= 0:
        end = mask.find(b" ", start)
        end = len(mask) if end < 0 else end
        if end - start <= 16384:
            runs.add(data[start:end])
        start = mask.find(_LONG, end)
    return b" ".join([run for run in runs if run.strip(_HEXADECIMAL)])


def _sights(data: bytes) -> "dict[bytes, list[int]]":
    """Where the names stand in the payload, in small letters or capitals: each needle of _SIGHTS with its places."""
    sights: dict[bytes, list[int]] = {}
    alike = data.translate(_ALIKE)
    for sought, needles in _SOUGHT.items():
        at = alike.find(sought)
        while at >= 0:
            for needle, offset in needles.get(data[at : at + len(sought)].lower(), ()):
                start = at - offset
                if start >= 0 and data[start : start + len(needle)].lower() == needle:
                    sights.setdefault(needle, []).append(start)
            at = alike.find(sought, at + 1)
    return sights


def _places(haystack: "Haystack", where: int, needle: bytes) -> "Iterable[int]":
    if where == _SIGHTS:
        return haystack[_SIGHTS].get(needle, ())
    data = haystack[_RUNS] if where == _RUNS else haystack[_RAW]
    return _found(data, needle) if needle in data else ()


def _found(data: bytes, needle: bytes) -> "Iterator[int]":
    start = data.find(needle)
    while start >= 0:
        yield start
        start = data.find(needle, start + len(needle))


def _begins_token(haystack: "Haystack", _: int, end: int) -> bool:
    """Whether what follows may be a token, and not just words as in npm_config_registry."""
    rest = haystack[_RUNS][end : end + 16]
    words = rest.islower() and rest.translate(None, b"_-./:").isalpha()
    return len(rest) == 16 and b" " not in rest and not words


def _assigns(haystack: "Haystack", start: int, end: int) -> bool:
    """Whether the name is given a value that may be a secret: _ASSIGNMENT once more, without `re`."""
    data = haystack[_RAW]
    if data[end : end + 1].isalnum() or data[end : end + 1] in (b"_", b"-", b".", b",", b"(", b")"):  # by far the most
        return False
    before = data[max(0, start - 40) : start].lower().decode("latin-1")
    if data[start:end].lower() == b"key" and not before.rstrip("_-").endswith(_KEYS):
        return False
    rest = data[end : end + 512].replace("：".encode(), b":").replace(b"\\uff1a", b":").lstrip(b"\\\"'`* \t")
    if rest[:1] not in (b"=", b":") and not is_option(before):
        return False
    value = rest.lstrip(b"=:>* \t")
    inner = value.lstrip(b"bfruBFRU")
    if inner[:1] in (b'"', b"'"):  # unlike \", it may have escaped quotes inside
        inner = inner[:1] + inner[1:].replace(b"\\" + inner[:1], b"~")
    inner = inner.lstrip(b"\\")
    quoted = inner[:1] in (b'"', b"'", b"`")
    if quoted:
        text = inner[1:].partition(inner[:1])[0].translate(_QUOTED).partition(b" ")[0].rstrip(b"\\")
    else:
        text = value.translate(_BARE).partition(b" ")[0].rstrip(b".:")
        if value[len(text) : len(text) + 1].decode("latin-1") in AFTER_CODE:
            return False
    if len(text) < SHORTEST:
        return False
    from sessionlog.plausible import is_for_shells, is_secret

    name = data[start:end].decode("latin-1")
    return is_secret(name, text.decode(), quoted, is_for_shells(name, before, rest[:1] == b"="))


def _is_in_capitals(haystack: "Haystack", start: int, end: int) -> bool:
    return haystack[_RAW][start:end].isupper()


def _authorizes(haystack: "Haystack", start: int, end: int) -> bool:
    from sessionlog.plausible import is_credential

    rest = haystack[_RAW][end : end + 2048].translate(_BARE).decode()
    words = [haystack[_RAW][start:end].lower().decode(), *(word.lstrip(":=") for word in rest.split(None, 3)[:3])]
    return any(is_credential(words[i], words[i - 1]) for i in range(1, len(words)))


def _has_password(haystack: "Haystack", _: int, end: int) -> bool:
    authority = haystack[_RAW][end : end + 2048].translate(_URL).partition(b" ")[0]
    password = authority.rpartition(b"@")[0].partition(b":")[2].decode()
    if not password:  # as in most addresses
        return False
    from sessionlog.plausible import is_url_password

    return is_url_password(password)


def is_option(before: str) -> bool:
    """Whether the name is an option of a command, which takes its value after a blank."""
    return before.rpartition(" ")[2].lstrip("\"'`").startswith("--")


BUILT_IN = (
    Detector("private-key", _PRIVATE_KEY, (b"private key",), _SIGHTS, _is_in_capitals),
    *[
        Detector(kind, f"(?a){regex}", tuple(needles.split()), _RUNS, _begins_token, "token")
        for kind, needles, regex in _TOKENS
    ],
    Detector("authorization", _AUTHORIZATION, (b"authorization", b"bearer"), _SIGHTS, _authorizes, "authorization"),
    Detector("url-password", _URL_PASSWORD, (b"://",), _SIGHTS, _has_password, "url"),
    *[
        Detector(kind, _ASSIGNMENT.format(names), tuple(needles.encode().split()), _SIGHTS, _assigns, "assignment")
        for kind, needles, names in _NAMES
    ],
)

# What to search for in the copy, what the payload may hold there, and which needle that is a part of, from where on.
_SOUGHT: "dict[bytes, dict[bytes, list[tuple[bytes, int]]]]" = {}
_SIGHTED = [needle for detector in BUILT_IN if detector.where == _SIGHTS for needle in detector.needles]
for _anchor in [anchor.encode() for anchor in _ANCHORS]:
    _SOUGHT.setdefault(_anchor.translate(_ALIKE), {})[_anchor] = [
        (needle, needle.find(_anchor)) for needle in _SIGHTED if _anchor in needle
    ]
