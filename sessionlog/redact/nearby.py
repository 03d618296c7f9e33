"""Random values near a telling name or the name of a provider, hashes of passwords, tokens and pairs in base64.

Like assignments.py, it reads bytes and does without `re`.
"""

from binascii import Error, a2b_base64

from sessionlog.redact import assignments
from sessionlog.redact.heuristics import is_secret, is_strong
from sessionlog.redact.rules import DIGITS, LETTERS, SEPARATORS, is_mixed, long_runs, sights
from sessionlog.redact.secret_names import NEAR, NOT_NEAR, VENDORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessionlog.redact.rules import Found

_NEAR = tuple(word.encode() for word in NEAR)
_NOT_NEAR = tuple(word.encode() for word in NOT_NEAR)
_VENDORS = tuple(word.encode() for word in VENDORS)
_REACH = 48  # bytes between the name and the value
_TO_WORDS = bytes.maketrans(SEPARATORS, b" " * len(SEPARATORS))
_IN_TOKENS = LETTERS + DIGITS + SEPARATORS + b"=\r\n"
_TO_LINE = bytes.maketrans(bytes(range(33)) + b'\\"', b" " * 35)
_MOST = 1000  # places of one value; more of the same is a table
_JWK = (b'"d', b'"p', b'"q', b'"dp', b'"dq', b'"qi', b'"k')  # the private parts of a key
_AFTER = (b"#", b"//", b" as ", b" is the ", b" is my ", b"<!--", b"--")  # what begins a word about the value before it
_HASHES = tuple(b"$2a$ $2b$ $2x$ $2y$ $1$ $5$ $6$ $y$ $apr1$ $argon2 $pbkdf2 $krb5 $scrypt$ {ssha}".split())
_ESCAPES = ((b"\\n", b"\n"), (b"\\r", b" "), (b"\\t", b" "), (b"\\b", b" "), (b"\\f", b" "), (b"\\", b""))


class Nearby:
    """The detector of what stands near a name."""

    kind = "nearby"
    turn = 4

    @staticmethod
    def find(data: bytes) -> "list[Found]":
        """The random values that something near them gives away."""
        return find(data, long_runs(data))


NEARBY = Nearby()


def suspected(data: bytes, runs: list[bytes]) -> "list[object]":
    """The detector, if one of the runs is given away."""
    return [NEARBY] if find(data, runs) else []


def find(data: bytes, runs: list[bytes]) -> "list[Found]":
    """Those of the runs that something near them gives away, in their order."""
    found: dict[int, Found] = {}
    for run in runs:
        if b":5432:" in run and run.count(b":") > 3 and not run.endswith(b":"):
            found |= _pgpass(data, run)
        if run[:1] != b"$" and not any([len(word) > 9 and is_mixed(word) for word in run.translate(_TO_WORDS).split()]):
            continue
        at, count = data.find(run), 0
        while at >= 0 and count < _MOST:
            hit = _judge(data, at, at + len(run), run)
            if hit:
                found.setdefault(hit[0], hit)
            at, count = data.find(run, at + len(run)), count + 1
    return _apart(sorted(found.values()))


def _pgpass(data: bytes, run: bytes) -> "dict[int, Found]":
    """The password in a line of .pgpass: host:port:database:user:password."""
    at = data.find(run)
    start = at + run.rfind(b":") + 1
    end = start + len(data[start : start + 200].translate(_TO_LINE).partition(b" ")[0])
    if end - start < 4:
        return {}
    return {start: (start, end, "password", "the password in a line of .pgpass")}


def _apart(found: "list[Found]") -> "list[Found]":
    kept: list[Found] = []
    for hit in found:
        if not kept or hit[0] >= kept[-1][1]:
            kept.append(hit)
    return kept


def _judge(data: bytes, start: int, end: int, run: bytes) -> "Found | None":
    if run[:1] == b"$":
        return _hash(data, start + 1, end)
    above, newline, line = _before(data, start).rpartition(b"\n")
    # A value on a line of its own, or one of those that a heading is about.
    if newline and (not line.strip(b" \t-\"'") or above.rstrip().endswith((b":", b"{"))):
        line = above.rstrip().rpartition(b"\n")[2] + b" " + line
    line = line.rpartition(b",")[2]  # what stands before a comma is about something else
    if run.startswith((b"arn:", b"urn:")):  # the name of a resource
        return None
    # name:value is one run
    cut = run.rfind(b":")
    if cut >= 0 and len(run) - cut > 12:
        line, start, run = line + run[: cut + 1], start + cut + 1, run[cut + 1 :]
    run = run.rstrip(b".:-/")
    end = start + len(run)
    padding = data[end : end + 3]
    run += padding[: len(padding) - len(padding.lstrip(b"="))]
    after = data[start + len(run) : start + len(run) + 1]
    quoted = data[start - 1 : start] in (b'"', b"'", b"`") or (after == b";" and b"ookie:" in line)
    in_brackets = data[start - 1 : start] + after == b"()"
    if b"//" in run or b"[redacted:" in line or (not quoted and not in_brackets and after in b"(),;[{" and after):
        return None
    kind = _kind(line[-_REACH:].lower(), data) or _said_after(data, start + len(run))
    if kind and is_strong(run.decode()):
        return start, start + len(run), kind, "a random value near a telling name"
    return _encoded(run, start, kind)


def _said_after(data: bytes, end: int) -> str | None:
    """What a comment or a word after the value says that it is."""
    rest = data[end : end + 48].partition(b"\n")[0].partition(b"\\n")[0].lower()
    for mark in _AFTER:
        _, found, said = rest.partition(mark)
        if found:
            return _kind(said, b"") if any([word in said for word in _NEAR]) else None
    return None


def _before(data: bytes, start: int) -> bytes:
    """What stands before a value, the same in the raw payload as in the text that is parsed from it."""
    before = data[max(0, start - 2 * _REACH) : start]
    if b"\\" in before:
        for escape, sign in _ESCAPES:
            before = before.replace(escape, sign)
    return before[-_REACH:]


def _kind(context: bytes, data: bytes) -> str | None:
    """What the text before a random value makes of it."""
    if any([word in context for word in _NOT_NEAR]):
        return None
    for word in _NEAR:
        if word in context:
            return {b"token": "token", b"bearer": "token", b"secret": "secret"}.get(word, "api-key")
    name = context.rstrip(b"\\\"' :")
    if name.endswith(b"sig=") or (name.endswith(_JWK) and b"kty" in data):
        return "secret"
    if any([word in context for word in _VENDORS]):
        return "api-key"
    return None


def _hash(data: bytes, start: int, end: int) -> "Found | None":
    """The hash of a password: its salt too goes, and the name of its kind stays."""
    context = data[max(0, start - 64) : start]
    word = context.replace(b"\n", b" ").rpartition(b" ")[2]
    mark = next((mark for mark in _HASHES if mark in word.lower()), None)
    if not mark or end - start < 22:
        return None
    begin = start - len(word) + word.lower().rfind(mark) + len(mark)
    return begin, end, "password-hash", f"the hash of a password, {mark.decode()}"


def _encoded(run: bytes, start: int, kind: str | None) -> "Found | None":
    """Base64 of a token, or of a user and a password."""
    text = run.rstrip(b"=")
    if not 16 <= len(text) <= 1024 or text.translate(None, LETTERS + DIGITS + b"+/_-"):
        return None
    try:
        decoded = a2b_base64(text.replace(b"-", b"+").replace(b"_", b"/") + b"=" * (-len(text) % 4))
    except Error:
        return None
    if not decoded.isascii() or not decoded.rstrip(b"\r\n").decode().isprintable():
        return None
    user, colon, password = decoded.partition(b":")
    name = user.translate(None, LETTERS + DIGITS + b"_.@-")
    if colon and user and not name and len(user) < 40 and is_secret("password", password.decode(), True, False):
        return start, start + len(run), "credential", "base64 of a user and a password"
    places = sights(decoded)
    if places and assignments.find(decoded, places):
        return start, start + len(run), "credential", "base64 of a name and its secret"
    from sessionlog.redact.token_forms import DETECTORS

    for detector in () if decoded.translate(None, _IN_TOKENS) else DETECTORS:
        if detector.judge == "token" and decoded.startswith(detector.needles):
            return start, start + len(run), detector.kind, f"base64 of the kind {detector.kind}"
    return None
