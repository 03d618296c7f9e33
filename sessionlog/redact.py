"""Takes secrets out of an event before it is written, and leaves fingerprints that only this machine can compute."""

from sessionlog.lean import parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable
    from typing import Any

    Haystack = tuple[bytes, bytes, bytes]

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
    ("twilio-key", b"SK", r"SK[0-9a-f]{32}(?!\w)"),
    ("vault-token", b"hvs. hvb.", r"hv[sb]\.[\w-]{24,}"),
    ("xai-key", b"xai-", r"xai-[A-Za-z0-9]{60,}"),
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
    r"(?ai)(?:authorization\\*[\"'`]?\]?[ \t]{0,8}[:=,][ \t]{0,8}\\*[\"'`]?(?:(?P<scheme>[a-z][\w-]{0,30})[ \t]{1,8})?"
    r"|bearer[ \t]{1,8})(?P<secret>[\w.~+/:-]{8,}=*)"
)
_URL_PASSWORD = r"(?a)://[\w!#$%&*+,.;=?~-]*:(?!\d+[?#])(?P<secret>[\w!#$%&*+,.:;=?@~-]+)@(?!sha256:)"  # noqa: S105

# name = value, name: value, --name value. A bare value ends before the full stop of a sentence.
_ASSIGNMENT = (
    r"(?ai)(?P<name>{})\\*[\"'`*]{{0,2}}[ \t]{{0,8}}(?P<sep>={{1,3}}>?|:=?|：|(?<=[ \t]))[ \t*]{{0,8}}"
    r"(?:[bfru]{{0,2}}(?P<quote>\\*[\"'`]))?"
    r"(?P<secret>(?(quote)(?:(?!(?P=quote))[!-~])+|[!#$%*+\-./0-9:=?@A-Z^_a-z~]*[!#$%*+\-/0-9=?@A-Z^_a-z~]))"
)
_KEYS = ("api", "access", "account", "auth", "encryption", "master", "private", "secret", "signing")
_NAMES = (
    ("password", "password passwd passphrase pwd _pass 密码 \\u5bc6\\u7801", "passw(?:or)?d|passphrase|pwd|_pass|密码"),
    ("secret", "secret", "secret"),
    ("api-key", "key", f"(?:{'|'.join(_KEYS)})[_-]?key"),
    ("token", "token", "token"),
)
_ENDS_OF_NAMES = ("password", "passwd", "passphrase", "pwd", "_pass", "密码", "secret", "key", "token", "authorization")

# What stands where a secret would, in examples, schemas, types and translations.
_WORDS = (
    " basic bearer changeme default disabled enabled encrypted false hidden incorrect invalid masked missing none null "
    "nullable number object optional pass passwd password passphrase plaintext private pwd redacted required secret "
    "string token true undefined unknown unset user username x-oauth-basic xxx "
)
_NUMBERED = " aes base bcrypt blake bytes char float int md number sha string uint utf varchar "
_HINTS = (
    "your",
    "example",
    "placeholder",
    "change",
    "required",
    "insert",
    "replace",
    "xxxx",
    "....",
    "${",
    "{{",
    "://",
)
_DIGITS = "0123456789"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

# Where to search: in the payload, in the payload in lower case, in its long runs.
_RAW, _LOWER, _RUNS = range(3)
_ENOUGH = 5000  # occurrences of a needle; a payload with more is suspect without a look at each


class Detector:
    """A kind of secret: how to suspect it in raw bytes, how to find it in text, how to tell it from code.

    The secret is the group `secret` of the regex, or the whole match when there is no such group.
    """

    __slots__ = ("judge", "kind", "look", "needles", "regex", "where")

    def __init__(
        self,
        kind: str,
        regex: str,
        needles: tuple[bytes, ...],
        where: int = _RAW,
        look: "Callable[[Haystack, int, int], bool] | None" = None,
        judge: "Callable[[re.Match[str]], bool] | None" = None,
    ) -> None:
        self.kind, self.regex, self.needles, self.where, self.look, self.judge = (
            kind,
            regex,
            needles,
            where,
            look,
            judge,
        )

    def suspects(self, haystack: "Haystack") -> bool:
        """Whether the secret may be there: a needle is, and what stands around it does not speak against it."""
        data, look = haystack[self.where], self.look
        for needle in self.needles:
            end = data.find(needle) + len(needle)
            seen = 0
            while end >= len(needle):
                seen += 1
                if look is None or seen > _ENOUGH or look(haystack, end - len(needle), end):
                    return True
                end = data.find(needle, end) + len(needle)
        return not self.needles


class Rules:
    """What to redact in the archive of the folder `home`: what we know, and what its config.json adds or allows."""

    def __init__(self, home: str) -> None:
        self.enabled = True
        self.allow: frozenset[str] = frozenset()
        self._home = home
        self._own: list[Detector] = []
        self._problems: list[str] = []
        self._key: bytes | None = None
        try:
            with open(f"{home}/config.json", "rb") as file:
                config = file.read()
            self._configure(parse_json(config.decode()))
        except FileNotFoundError:
            pass
        except OSError as error:
            self._problems.append(f"it cannot be read ({error})")
        except ValueError as error:
            self._problems.append(f"it is not JSON ({error})")

    @property
    def problem(self) -> str | None:
        """What is wrong with config.json, in one sentence. It compiles the user's patterns: not for the hot path."""
        import re

        problems = list(self._problems)
        for detector in self._own:
            try:
                re.compile(detector.regex)
            except (re.error, OverflowError, RecursionError) as error:
                problems.append(f"the regex of {detector.kind!r} is wrong ({error})")
        return f"{self._home}/config.json: {', '.join(problems)}." if problems else None

    def suspects(self, data: bytes) -> tuple[Detector, ...]:
        """The detectors worth running on a payload, by its raw bytes."""
        if not self.enabled:
            return ()
        haystack = data, data.lower(), _long_runs(data)
        return tuple([detector for detector in (*self._own, *_BUILT_IN) if detector.suspects(haystack)])

    def clean(self, value: "Any", suspects: tuple[Detector, ...]) -> "Any":
        """The parsed JSON value without its secrets; dicts and lists are changed in place."""
        if not suspects:
            return value
        redact = self._redactor(suspects)
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
                    node[name] = _redact_entry(redact, name, item) if isinstance(item, str) else item
            else:
                node[:] = [redact(item) if isinstance(item, str) else item for item in node]
            children = node.values() if isinstance(node, dict) else node
            stack += [item for item in children if isinstance(item, (dict, list))]
        return root[0]

    def clean_text(self, text: str, suspects: tuple[Detector, ...]) -> str:
        """The text of a payload that is not JSON, without its secrets."""
        return self._redactor(suspects)(text) if suspects else text

    def fingerprint(self, secret: str) -> str:
        """The same ten digits for the same secret; nobody without this machine's key can try guesses against them."""
        if self._key is None:
            self._key = _machine_key(self._home)
        if not self._key:
            return "nokey"
        try:
            from _blake2 import blake2b
        except ImportError:
            from hashlib import blake2b
        return blake2b(secret.encode("utf-8", "surrogatepass"), key=self._key).hexdigest()[:10]

    def _redactor(self, suspects: tuple[Detector, ...]) -> "Callable[[str], str]":
        import re

        steps = []
        for detector in suspects:
            try:
                steps.append((re.compile(detector.regex), detector))
            except (re.error, OverflowError, RecursionError):
                continue  # one of the user's; `problem` tells

        def redact(text: str) -> str:
            for pattern, detector in steps:
                text = pattern.sub(lambda match, detector=detector: self._replacement(match, detector), text)  # type: ignore[misc]
            return text

        return redact

    def _replacement(self, match: "re.Match[str]", detector: Detector) -> str:
        start, end = match.span("secret" if "secret" in match.re.groupindex else 0)
        text, secret = match.string, match.string[start:end]
        if not secret or secret in self.allow or _is_redacted(text, start, end):
            return match[0]
        if detector.judge and not detector.judge(match):
            return match[0]
        marker = f"[redacted:{detector.kind}:{self.fingerprint(secret)}]"
        return text[match.start() : start] + marker + text[end : match.end()]

    def _configure(self, config: "Any") -> None:
        """Takes over what is sound: a mistake costs its own entry, never the redaction."""

        def take(source: "Any", name: str, default: "Any") -> "Any":
            value = source.get(name, default) if isinstance(source, dict) else None
            if type(value) is type(default):
                return value
            self._problems.append(f'"{name}" is not a {type(default).__name__}')
            return default

        redact = take(config, "redact", {})
        self.enabled = take(redact, "enabled", True)
        allow = take(redact, "allow", [])
        self.allow = frozenset(value for value in allow if isinstance(value, str))
        if len(self.allow) < len(set(map(repr, allow))):
            self._problems.append('"allow" holds more than strings')
        for entry in take(redact, "patterns", []):
            kind, regex, contains = take(entry, "kind", ""), take(entry, "regex", ""), take(entry, "contains", "")
            if not (regex and kind.isascii() and kind.replace("-", "").isalnum() and len(kind) <= 40):
                self._problems.append('a pattern lacks its "regex", or a "kind" of letters, digits and hyphens')
                continue
            # Without `contains`, or with one that JSON spells otherwise, it runs on every event, for 8 ms and more.
            plain = contains.isascii() and contains.isprintable() and not {'"', "\\"} & set(contains)
            self._own.append(Detector(kind, regex, (contains.encode(),) if contains and plain else ()))


def _redact_entry(redact: "Callable[[str], str]", key: str, item: str) -> str:
    """The value of a dict's entry, read together with its key when the key is a name such as `password`."""
    if key.lower().endswith(_ENDS_OF_NAMES):
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
    import os

    path = f"{home}/redact.key"
    # A symbolic link is refused, and a pipe in the place of the file must not hang the hook.
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        if not os.path.lexists(path):
            os.makedirs(home, mode=0o700, exist_ok=True)
            draft = f"{path}.{os.urandom(8).hex()}"
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | flags, 0o600), "wb") as file:
                file.write(os.urandom(32))
                file.flush()
                os.fsync(file)  # an empty key after a power cut would be there for good
            try:
                os.link(draft, path)  # whole or not at all, and of many processes one wins
            except FileExistsError:
                pass
            finally:
                os.unlink(draft)
        with open(os.open(path, os.O_RDONLY | flags), "rb") as file:
            key = file.read(33)
    except OSError:
        return b""
    return key if len(key) == 32 else b""


# --- The cheap test: what stands around a needle ----------------------------------------------------------------------

# A search costs 0.1 ms in 200 KB, so the tokens of providers are sought only where they can be: in runs of 20 or more
# letters, digits and the few signs that occur in them. A run over 16 KB is an image or the like.
_RUN_MASK = bytes(97 if chr(byte) in f"{_LETTERS}{_DIGITS}_-.~/+:" else 32 for byte in range(256))
_LONG = b"a" * 20

# The bytes of a bare value, of a quoted one, and of a URL up to its path; all others are blanks.
_BARE = bytes(byte if 32 < byte < 127 and byte not in b"\"&'(),;<>[\\]`{|}" else 32 for byte in range(256))
_QUOTED = bytes(byte if 32 < byte < 127 else 32 for byte in range(256))
_URL = bytes(byte if 32 < byte < 127 and byte not in b"\"'()/<>[\\]^`{|}" else 32 for byte in range(256))


def _long_runs(data: bytes) -> bytes:
    mask = data.translate(_RUN_MASK)
    runs = []
    start = mask.find(_LONG)
    while start >= 0:
        end = mask.find(b" ", start)
        end = len(mask) if end < 0 else end
        if end - start <= 16384:
            runs.append(data[start:end])
        start = mask.find(_LONG, end)
    return b" ".join(runs)


def _begins_token(haystack: "Haystack", _: int, end: int) -> bool:
    """Whether what follows may be a token, and not just words as in npm_config_registry."""
    rest = haystack[_RUNS][end : end + 16]
    words = rest.islower() and rest.translate(None, b"_-./:").isalpha()
    return len(rest) == 16 and b" " not in rest and not words


def _assigns(haystack: "Haystack", start: int, end: int) -> bool:
    """Whether the name is given a value that may be a secret: _ASSIGNMENT once more, without `re`."""
    data, lower = haystack[_RAW], haystack[_LOWER]
    if data[end : end + 1].isalnum() or data[end : end + 1] in (b"_", b"-", b".", b",", b"(", b")"):  # by far the most
        return False
    before = lower[max(0, start - 40) : start].decode("latin-1")
    if lower[start:end] == b"key" and not before.rstrip("_-").endswith(_KEYS):
        return False
    rest = data[end : end + 512].replace("：".encode(), b":").replace(b"\\uff1a", b":").lstrip(b"\\\"'`* \t")
    if rest[:1] not in (b"=", b":") and not _is_option(before):
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
        if value[len(text) : len(text) + 1] in (b"(", b"[", b"{", b"<"):
            return False
    return _is_secret(data[start:end].decode("latin-1"), text.decode(), quoted, rest[:1] == b"=")


def _authorizes(haystack: "Haystack", _: int, end: int) -> bool:
    words = haystack[_RAW][end : end + 2048].translate(_BARE).split(None, 4)[:4]
    return any(_is_credential(word.decode(), letters_too=True) for word in words)


def _has_password(haystack: "Haystack", _: int, end: int) -> bool:
    authority = haystack[_RAW][end : end + 2048].translate(_URL).partition(b" ")[0]
    return _is_url_password(authority.rpartition(b"@")[0].partition(b":")[2].decode())


# --- Secret or not: what a form alone cannot tell ---------------------------------------------------------------------


def _judge_token(match: "re.Match[str]") -> bool:
    text, start, low = match.string, match.start(), match[0].lower()
    before = text[start - 1 : start]
    inside = before.isascii() and before.isalnum()  # of a longer word, if not of an escape: \n, \u4e2d
    inside = inside and text[start - 2 : start] not in ("\\n", "\\r", "\\t") and text[start - 6 : start - 4] != "\\u"
    words = match[0] == low and not _has_digit(low)
    return not inside and not words and not _is_repetitive(low) and "your" not in low[:24]


def _judge_assignment(match: "re.Match[str]") -> bool:
    text, end = match.string, match.end()
    before = text[max(0, match.start() - 40) : match.start()]
    if not match["sep"] and not _is_option(before):
        return False
    if not match["quote"] and text[end : end + 1] in ("(", "[", "{", "<"):  # a call, an index, a type
        return False
    if before.lower().endswith("publickey") or before.rstrip(_LETTERS).endswith(
        "::"
    ):  # .NET's PublicKeyToken, a::Token
        return False
    tight = text[match.end("name") : match.start("secret")] == "="
    return _is_secret(match["name"], match["secret"], bool(match["quote"]), tight)


def _judge_authorization(match: "re.Match[str]") -> bool:
    return _is_credential(match["secret"], letters_too=(match["scheme"] or "").lower() == "basic")


def _judge_url(match: "re.Match[str]") -> bool:
    return _is_url_password(match["secret"])


def _is_secret(name: str, value: str, quoted: bool, tight: bool) -> bool:
    """Whether the value given to a name is a secret, and not code, a type, a path, a label or a placeholder.

    A password may be any word; a key or token is made by a machine and mixes letters and digits. A bare word may be
    code, but not in NAME=word, which is a shell's or an .env file's.
    """
    low = value.lower()
    machine_made = name.lower().endswith(("secret", "key", "token"))
    if len(value) < (8 if machine_made else 6) or _is_placeholder(low) or _is_path(value):
        return False
    literal = quoted or (tight and name.isupper())
    if not literal and _is_code(value):
        return False
    if value.isalpha():
        return literal and value.islower() and not (quoted and machine_made)
    if machine_made:
        return _has_digit(value) and low.islower() and not _is_wordy(low)
    if literal:
        return _has_digit(value) or not _is_wordy(low)
    return _has_digit(value) and (value.isalnum() or not _is_wordy(low))


def _is_credential(value: str, letters_too: bool) -> bool:
    """Whether an Authorization header may carry this; base64 of a user and a password can be all letters."""
    low = value.lower()
    if len(value) < 8 or _is_placeholder(low) or low.endswith(_ENDS_OF_NAMES):
        return False
    if _has_digit(value):
        return low.islower() and not _is_wordy(low)
    return letters_too and value.rstrip("=").isalnum() and not (value.islower() or value.isupper() or value.istitle())


def _is_url_password(value: str) -> bool:
    return len(value) >= 3 and not _is_placeholder(value.lower())


def _is_placeholder(low: str) -> bool:
    if f" {low} " in _WORDS or len(set(low)) == 1 or _is_repetitive(low):
        return True
    if low[0] in "<{[^:" or (low[0] in "$%" and not low[1].isdigit()):  # a template, a pattern, a variable
        return True
    return any(hint in low[:24] for hint in _HINTS)  # further on, a random value has them by chance


def _is_repetitive(low: str) -> bool:
    return any(sign * 6 in low for sign in "x*.0#_-")


def _is_wordy(low: str) -> bool:
    """Words, each with two digits at most: my-api-key-v2, us-east-1, oauth2.token."""
    words = low.translate(_SEPARATORS).split()
    stems = [word.rstrip(_DIGITS) for word in words]
    return "".join(stems).isalpha() and all(len(word) - len(stem) <= 2 for word, stem in zip(words, stems, strict=True))


_SEPARATORS = str.maketrans("-_./:", "     ")


def _is_code(value: str) -> bool:
    """A bare word that is rather a name: password2, sha256, Uint8Array."""
    stem = value.lower().rstrip(_DIGITS)
    camel = value[0].isupper() and value[-1].isalpha() and value.strip(_LETTERS).isdigit()
    return camel or f" {stem} " in _NUMBERED or stem.endswith(_ENDS_OF_NAMES)


def _is_path(value: str) -> bool:
    folder = value.lstrip("~.")
    return folder[:1] == "/" and (folder != value or folder[1:].partition("/")[0].isalpha())


def _is_option(before: str) -> bool:
    """Whether the name is an option of a command, which takes its value after a blank."""
    return before.rpartition(" ")[2].lstrip("\"'`").startswith("--")


def _has_digit(value: str) -> bool:
    return any(digit in value for digit in _DIGITS)


_BUILT_IN = (
    Detector("private-key", _PRIVATE_KEY, (b"PRIVATE KEY",)),
    *[
        Detector(kind, f"(?a){regex}", tuple(needles.split()), _RUNS, _begins_token, _judge_token)
        for kind, needles, regex in _TOKENS
    ],
    Detector("authorization", _AUTHORIZATION, (b"authorization", b"bearer"), _LOWER, _authorizes, _judge_authorization),
    Detector("url-password", _URL_PASSWORD, (b"://",), _RAW, _has_password, _judge_url),
    *[
        Detector(kind, _ASSIGNMENT.format(names), tuple(needles.encode().split()), _LOWER, _assigns, _judge_assignment)
        for kind, needles, names in _NAMES
    ],
)
