"""Secrets by the names that they are given to: name = value as all languages spell it, headers, URLs, command lines.

It reads bytes and does without `re`: most suspicions come from here, and so a wrong one costs the hook little. The same
code tests the raw payload and cleans its texts, so the two cannot disagree.
"""

from sessionlog.redact.foreign_names import name_at as foreign_name
from sessionlog.redact.heuristics import is_credential, is_passphrase, is_secret, is_strong, is_url_password
from sessionlog.redact.rules import DIGITS, IDENTIFIER, LETTERS, is_marker, is_mixed, sights
from sessionlog.redact.secret_names import TYPES, Name, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

    from sessionlog.redact.rules import Found

RULE: "Final" = "the value of a telling name"
AFTER_CODE = b"([{<"  # a call, an index, a type
_LONGEST = 65536  # bytes of a value; what is longer is a document
_ENOUGH = 256  # bytes of it that are judged, so that many names in a row do not each read as much

_OPERATORS = tuple(":::= ::= ||= ??= === => -> <- := ?= .= += == = : || ?? ： ＝".encode().split())
_SAYS = tuple(word.encode() for word in ("是", "为", "は", " is ", " lautet ", " ist ", " es ", " est "))
_WHOSE = (b" for ", b" of ", b" on ", b" to ")
# As long as what they stand for, so that places stay the same: by the sign that all of them begin with.
_SPELLINGS = {
    b"\\": (
        (b"\\n", b" \n"), (b"\\r", b" \r"), (b"\\t", b" \t"), (b"\\u003d", b"     ="), (b"\\u003D", b"     ="),
        (b"\\u003a", b"     :"), (b"\\u0022", b'\\\\\\\\\\"'), (b"\\u0027", b"\\\\\\\\\\'"),
        (b"\\u003e", b"\\\\\\\\\\>"),
        (b"\\x3d", b"   ="), (b"\\x22", b'\\\\\\"'), (b"\\x27", b"\\\\\\'"), (b"\\x3a", b"   :"),
    ),
    b"%": (
        (b"%253D", b"    ="), (b"%253A", b"    :"), (b"%2522", b'\\\\\\\\"'), (b"%3D", b"  ="), (b"%3d", b"  ="),
        (b"%3A", b"  :"), (b"%3a", b"  :"), (b"%22", b'\\\\"'), (b"%27", b"\\\\'"),
    ),
    b"&": (
        (b"&quot;", b'\\\\\\\\\\"'), (b"&#34;", b'\\\\\\\\"'), (b"&#39;", b"\\\\\\\\'"), (b"&apos;", b"\\\\\\\\\\'"),
        (b"&#61;", b"    ="), (b"&#x3D;", b"     ="), (b"&#x3d;", b"     ="), (b"&gt;", b"\\\\\\>"),
    ),
    b"\xe2\x80": tuple((quote.encode(), b'\\\\"') for quote in "“”„") + tuple((q.encode(), b"\\\\'") for q in "‘’"),
    b"\xc2": ((b"\xc2\xab", b'\\"'), (b"\xc2\xbb", b'\\"')),  # « »
}  # fmt: skip
# Quotes that are not one sign, and what closes them.
_SPELLED_QUOTES = {
    quote.encode(): closing.encode()
    for quote, closing in (
        ("%22", "%22"), ("%27", "%27"), ("%2522", "%2522"), ("&quot;", "&quot;"), ("&apos;", "&apos;"),
        ("&#34;", "&#34;"), ("&#39;", "&#39;"), ("\\u0022", "\\u0022"), ("\\u0027", "\\u0027"), ("\\x22", "\\x22"),
        ("\\x27", "\\x27"), ("“", "”"), ("„", "“"), ("”", "”"), ("‘", "’"), ("«", "»"), ("»", "«"),
    )
}  # fmt: skip
_SETTERS = tuple(b"set put add property env header append param option value define".split())
_CLOSERS = b"\\\"'`*]}"
_SHORT = ("pass", "passe", "pw", "auth")  # names that are words of their own too
# What makes a text a secret of a type of its own, or reads it from the environment, with the text in its place.
_WRAPPERS = (
    "string",
    "str",
    "from",
    "some",
    "secret",
    "secretstr",
    "bytes",
    "b64decode",
    "unicode",
    "cstring",
)
_DEFAULTS = ("getenv", "get", "env", "fetch", "config", "environ", "var")
_OR = (b"|| ", b"??", b"or ", b"||")
_QUOTES = b"\"'`"
_PASSWORD = Name("password", "password", "", False, False, False)

_NO_TEXT = bytes((*range(33), *range(127, 256)))


def _blanking(signs: bytes) -> bytes:
    return bytes.maketrans(_NO_TEXT + signs, b" " * len(_NO_TEXT + signs))


_BARE = _blanking(b"\"&'(),;<>[\\]`{|}")
_URL = _blanking(b"\"'()/<>[\\]`{|}")

# Commands, and whether a blank may stand between their -p and the password.
_COMMANDS = dict.fromkeys(b"mysql mariadb 7z rar unrar".split(), False) | dict.fromkeys(
    b"login sshpass psexec mongo curl lftp ldap sqlcmd winrm pscp plink twine useradd zip unzip rdesktop ncftp bcp "
    b"mosquitto_pub mosquitto_sub ipmitool redis-cli openssl smbclient sudo wget".split(),
    True,
)
# The flags of those that do not take -p.
_OTHER_FLAGS = {
    b"P": b"zip unzip sqlcmd bcp mosquitto_pub mosquitto_sub ipmitool".split(),
    b"a": [b"redis-cli"],
    b"w": [b"ldap"],
    b"k": [b"openssl"],
    b"S": [b"sudo"],
    b"U": [b"smbclient"],
}


class Assignments:
    """The detector of all that a name gives away."""

    kind = "assignment"
    turn = 3
    find = staticmethod(lambda data: find(data, sights(data)))


ASSIGNMENTS = Assignments()


def suspected(data: bytes, places: list[int]) -> "list[object]":
    """The detectors for what the names at these places may be given."""
    detectors: list[object] = []
    if any(data[at - 8 : at] == b"PRIVATE " or data[at - 11 : at - 5] == b"PuTTY-" for at in places):
        from sessionlog.redact.private_keys import PRIVATE_KEYS

        detectors += PRIVATE_KEYS
    return [*detectors, ASSIGNMENTS] if len(places) > 5000 or any(_judge(data, at) for at in places) else detectors


def find(data: bytes, places: "Iterable[int]") -> "list[Found]":
    """The secrets that the names at these places are given, in their order."""
    found: list[Found] = []
    end = 0
    for at in sorted(places):
        hit = _judge(data, at) if at >= end else None
        if hit and hit[0] >= end:
            found += (hit, *_rest_of_list(data, hit))
            end = found[-1][1]
    return found


def _rest_of_list(data: bytes, hit: "Found") -> "list[Found]":
    """What else stands in the same list: ["x", "y"], or - x and - y."""
    _, end, kind, rule = hit
    before = _normal(data[max(0, hit[0] - 24) : hit[0]])
    opened = before.rstrip(b"\\\"'").rstrip(b" \t\r\n")
    found: list[Found] = []
    if opened.endswith(b"["):
        separator = b","
    elif opened.endswith(b"-") and b"\n" in before:
        separator = b"-"
    else:
        return found
    while len(found) < 1000:
        rest = data[end : end + 64]
        text = _normal(rest).lstrip(b"\\\"'").lstrip(b" \t\r\n")
        if not text.startswith(separator):
            break
        text = text[1:].lstrip(b" \t\r\n")
        begin = end + len(rest) - len(text)
        value = _read_value(data, begin, _PASSWORD, kind != "password")
        if not value:
            break
        found.append((*value, kind, rule))
        end = value[1]
    return found


def _judge(data: bytes, at: int) -> "Found | None":
    if data[at : at + 1] == b":":
        return _url(data, at)
    if data[at : at + 2] == b" -":
        return _flag(data, at)
    if data[at] >= 128:
        return _foreign_name(data, at)
    if data[at : at + 1] == b"-" or data[at : at + 5].lower() == b"entif":
        return _rare_place(data, at)
    left = data[max(0, at - 48) : at]
    start = at - len(left) + len(left.rstrip(IDENTIFIER + b".$"))
    if data[start - 1 : start] == b"\\" and data[start : start + 1] in b"nrtbf" and start < at:
        start += 1
    if data[start - 1 : start + 5] == b"\\u003c":
        start += 5
    right = data[at : at + 160]
    end = at + len(right) - len(right.lstrip(IDENTIFIER))
    if (data[end : end + 1] > b"\x7f" or data[start - 1 : start] > b"\x7f") and foreign_name(data, at):
        return _foreign_name(data, at)
    if is_marker(data, start, end) or data[start - 2 : start] == b"::":  # types such as AWS::IAM::AccessKey
        return None
    if data[start - 1 : start] == b":" and _is_resource(data, start):
        return None
    ident = data[start:end].decode("utf-8", "replace").lstrip("$.")
    low = ident.lower().lstrip("-")
    if low == "bearer":
        return _credential(data, end, b"bearer") if data[end : end + 1] in b" \t:" else None
    if low.endswith("authorization"):
        return _authorization(data, end)
    if low.endswith(("htpasswd", "chpasswd", "password-stdin")) and (piped := _piped(data, start, end, low)):
        return piped
    name = read(ident)
    if name is None:
        return None
    if low == "secret" and data[start - 6 : start].lower().endswith(b"kind: "):
        return _kubernetes(data, end)
    if name.rest[:1] in ("-", "_") and is_strong(name.rest[1:]):  # acme-token-0f3a…
        return end - len(name.rest) + 1, end, name.kind, f"{RULE}, {name.word}"
    if name.is_other:
        return None
    hit = _value(data, start, end, ident, name)
    if hit and data[hit[0] : hit[1]].rstrip(DIGITS) == ident.rpartition(".")[2].encode():  # exports.Auth = Auth2
        return None
    return (*hit, name.kind, f"{RULE}, {ident}") if hit else None


def _is_resource(data: bytes, start: int) -> bool:
    """Whether it stands in the name of a resource, as in arn:aws:secretsmanager:eu-west-1:12:secret:name."""
    return data[max(0, start - 100) : start].translate(_BARE).rpartition(b" ")[2].startswith((b"arn:", b"urn:"))


def _foreign_name(data: bytes, at: int) -> "Found | None":
    found = foreign_name(data, at)
    if not found:
        return None
    start, end, text, kind = found
    value = _value(data, start, end, text, Name(kind, text, "", kind == "api-key", kind != "password", False))
    return (*value, kind, f"{RULE}, {text}") if value else None


def _rare_place(data: bytes, at: int) -> "Found | None":
    """--user me:x, IDENTIFIED BY 'x'."""
    head = data[at : at + 40].lower()
    if head.startswith(b"-user"):
        return _flag_value(data, at + 5, b"u", b"curl", "-user")
    gap = data[at + 12 : at + 40]
    skipped = b"password " if gap.lower().startswith(b"password ") else b""
    quoted = gap[len(skipped) :].lstrip(b"\\")[:1] in (b"'", b'"')
    hit = _read_value(data, at + 12 + len(skipped), _PASSWORD, False) if quoted else None
    return (*hit, "password", "the password of a command") if hit else None


def _piped(data: bytes, start: int, end: int, command: str) -> "Found | None":
    """echo x | docker login --password-stdin, echo me:x | chpasswd, htpasswd -b FILE me x."""
    if command.endswith("htpasswd"):
        words = data[end : end + 200].partition(b"\n")[0].partition(b"\\n")[0].split()
        if len(words) < 3 or words[0][:1] != b"-" or b"b" not in words[0]:
            return None
        word = words[2 if b"n" in words[0] else 3 :][:1] or [b""]
        begin = data.find(word[0], end) if word[0] else -1
        text = word[0]
    else:
        before = data[max(0, start - 300) : start]
        for mark in (b"\n", b"\\n", b"&&", b";"):
            before = before.rpartition(mark)[2]
        said, pipe, _ = before.rpartition(b"|")
        at = said.find(b"echo ")
        if not pipe or at < 0:
            return None
        words = said[at + 5 :].replace(b"\\", b" ").replace(b'"', b" ").replace(b"'", b" ").split()
        text = next((word for word in words if not word.startswith(b"-")), b"")
        text = text.partition(b":")[2] if command.endswith("chpasswd") else text
        begin = data.find(text, start - len(before) + at + 5) if text else -1
    text = text.strip(b"\\\"'")
    if begin < 0 or text[:1] in b"$-<" or b"[redacted" in text or not is_url_password(text.decode("utf-8", "replace")):
        return None
    begin = data.find(text, begin)
    return begin, begin + len(text), "password", "the password of a command"


def _kubernetes(data: bytes, end: int) -> "Found | None":
    """The first value of a Secret; what its names tell is found without this."""
    block = _normal(data[end : end + 2000])
    for mark in (b"\ndata:", b"\nstringData:", b"\n data:"):
        at = block.find(mark)
        if at < 0:
            continue
        for line in block[at:].split(b"\n")[2:12]:
            at = block.find(line, at)
            key, colon, value = line.partition(b": ")
            if not line.startswith(b" ") or not colon:
                break
            value = value.strip(b" \"'\\")
            text = value.decode("utf-8", "replace")
            if len(value) > 11 and b"[redacted" not in value and is_secret("password", text, True, False):
                begin = end + block.find(value, at + len(key))
                return begin, begin + len(value), "secret", "the value of a Kubernetes Secret"
    return None


def _value(data: bytes, start: int, end: int, ident: str, name: Name) -> "tuple[int, int] | None":
    """Where the secret is that the name is given, by the signs between the two."""
    rest = _normal(data[end : end + 320])
    after = rest.lstrip(_CLOSERS)
    closers = rest[: len(rest) - len(after)]
    option = ident.startswith("-")
    strict = False
    # <password>x</password>, and the value of <name>password</name>, name: password or key="password"
    named = after[:1] == b">" and data[max(0, start - 8) : start].rstrip(b"\\\"'").lower().endswith((b"name=", b"key="))
    opened = (
        data[start - 1 : start] in b"<:/" or data[start - 4 : start] == b"&lt;" or data[start - 5 : start] == b"u003c"
    )
    if named or (after[:1] == b">" and opened and start):
        return _element(data, end + len(closers) + 1, rest[len(closers) + 1 :], name)
    if after[:1] in b" :" and data[start - 1 : start] in b"<:/" and start and after:  # <password type="x">
        inside, bracket, _ = after.partition(b">")
        if bracket and b"<" not in inside and (b"=" in inside or not inside.strip()):
            skipped = len(closers) + len(inside) + 1
            if hit := _element(data, end + skipped, rest[skipped:], name):
                return hit
    short = ident.lower() in _SHORT
    pair = _pair(rest)
    if pair and short:
        return None
    if after[:1] == b"(" and name.kind == "credential":
        return _arguments(data, end + len(closers), 2) or _arguments(data, end + len(closers), 1, name, True)
    if after[:1] == b"[" and (size := after.find(b"]", 0, 8)) > 0 and not after[1:size].strip(DIGITS):
        after = after[size + 1 :]  # char password[64] = "x"
    if after[:1] == b"{" and after[1:].lstrip(b"\\")[:1] in _QUOTES:  # std::string password{"x"}
        return _read_value(data, end + len(rest) - len(after) + 1, name, name.strict)
    if pair:
        end, rest = end + pair, rest[pair:]
        after, closers = rest.lstrip(_CLOSERS), b""
        if after[:1] == b">":
            return _element(data, end + 1, rest[1:], name)
    blank = after.lstrip(b" \t*")
    sign = next((sign for sign in _OPERATORS if blank.startswith(sign)), b"")
    if not sign:
        says = next((word for word in _SAYS if after.startswith(word)), b"")
        if says:
            sign, blank, strict = says, after, says == b" is " and name.kind != "password"
        elif name.kind == "password" and after.startswith(_WHOSE) and (place := after.find(b" is ", 4, 40)) > 0:
            sign, blank = b" is ", after[place:]  # the password for the test server is x
        elif name.kind == "password" and not ident.isascii() and (place := after.find(b": ", 0, 40)) > 0:
            sign, blank = b":", after[place:]
    gap = blank[len(sign) :].lstrip(b" \t*").removeprefix("：".encode()).lstrip(b" ")
    if not sign and blank[:1] in (b",", b"-", b"|"):
        # setProperty("password", "x"), token - 'x', | token | x |
        gap = blank[1:].lstrip(b" \t")
        quoted_name = closers.strip(b"\\")[:1] in _QUOTES
        tight = blank[:1] == b"," and (quoted_name or ident.isupper()) and _sets(data[max(0, start - 40) : start])
        if blank[:1] != b"|" and (not gap or gap.lstrip(b"\\")[:1] not in _QUOTES):
            return None
        in_table = blank[:1] == b"|" and name.kind == "password" and gap[:1] not in (b'"', b"'", b"\\")
        strict = not tight and not in_table
    elif not sign:
        quoted = gap.lstrip(b"\\")[:1] in _QUOTES and gap
        if not blank[:1] or (after == blank and not quoted) or short:
            return None
        if not quoted and not option:
            in_table = name.kind == "password" and b"\t" in after[:2]
            strict = not in_table and not _is_netrc(data, start, name) and not _is_said(gap, name)
    if sign and gap[:1] == b"\n":  # the value on a line of its own, or in a list
        line = gap.lstrip(b" \t\r\n")
        word = line.removeprefix(b"- ").lstrip(b"\\\"'").translate(_BARE).partition(b" ")[0]
        follows = line.partition(word)[2].lstrip(b"\\\"'}]")[:1] if word else b"x"
        if len(word) < 10 or not is_mixed(word) or follows not in (b"", b" ", b"\r", b"\n", b","):
            return None
        gap, strict = line.removeprefix(b"- "), strict or name.kind != "password"
    elif sign == b":" and gap[:1] in (b"|", b">") and gap.lstrip(b"|>+-")[:2].strip() == b"":  # a block of YAML
        gap = gap.lstrip(b"|>+- \t\r\n")
    elif blank[:1] == b">" or gap[:1] == b"\n":
        return None
    if gap[:1] == b"[" and not short and gap[1:].lstrip(b" \t\r\n\\")[:1] in (b'"', b"'"):
        gap = gap[1:].lstrip(b" \t\r\n")
    gap = gap.removeprefix(b"!!str ")
    anchor, _, anchored = gap.partition(b" ")
    if gap[:1] == b"&" and gap[1:2].isalpha() and sign == b":" and anchor[1:].decode("utf-8", "replace") not in TYPES:
        gap = anchored  # of YAML
    if gap[:1] == b"(" and name.kind == "credential":
        return _arguments(data, end + len(rest) - len(gap), 2)
    begin = end + len(rest) - len(gap)
    word = gap.lstrip(b"&*").removeprefix(b"'static ").translate(_BARE).partition(b" ")[0].strip(b"*?:").lower()
    if sign in (b":", b"") and word.decode() in TYPES:
        given = gap.partition(b"\n")[0].partition(b",")[0].find(b"=", 0, 48)
        if given < 0:
            return None
        gap = rest[len(rest) - len(gap) + given :].lstrip(b"= \t")
        begin, sign, strict = end + len(rest) - len(gap), b"=", False
    tight = sign == b"=" and begin == end + 1
    before = data[start - 1 : start] if start else b""
    for_shells = tight and (ident.isupper() or option or before in (b"?", b"&"))
    return _read_value(data, begin, name, strict or name.strict, for_shells) or (
        _default(data, begin, name, strict or name.strict) if sign else None
    )


def _default(data: bytes, begin: int, name: Name, strict: bool) -> "tuple[int, int] | None":
    """The text in String("x"), getenv("PW", "x") and process.env.PW || "x"."""
    line = _normal(data[begin : begin + 96]).partition(b"\n")[0]
    code = line.removeprefix(b"new ")
    word = code[: len(code) - len(code.lstrip(IDENTIFIER + b".:!&"))]
    after = code[len(word) :]
    at = begin + len(line) - len(after)
    if after[:1] == b"(" and word:
        call = word.replace(b":", b".").rpartition(b".")[2].decode().lower().rstrip("!")
        if call in _DEFAULTS or "env" in call:
            return _arguments(data, at, 2, name, strict)
        return _arguments(data, at, 1, name, strict or call not in _WRAPPERS)
    for mark in _OR:
        place = after.find(mark, 0, 40)
        gap = after[place + len(mark) :].lstrip(b" ") if place >= 0 else b""
        if gap and gap.lstrip(b"\\")[:1] in _QUOTES:
            return _read_value(data, at + len(after) - len(gap), name, strict)
    return None


def _arguments(
    data: bytes, at: int, number: int, name: "Name | None" = None, strict: bool = False
) -> "tuple[int, int] | None":
    """The argument of a call that may be a secret: the first one, or the second after a quoted first one."""
    begin = at + 1
    rest = data[begin : begin + 120]
    if rest.lstrip(b"\\")[:1] not in _QUOTES:
        return None
    if number == 2:
        quote = rest[: len(rest) - len(rest.lstrip(b"\\")) + 1]
        first, closed, after = rest[len(quote) :].partition(quote)
        gap = after.lstrip(b" ,")
        if not closed or b"," not in after[: len(after) - len(gap)] or gap.lstrip(b"\\")[:1] not in _QUOTES:
            return None
        begin += len(quote) + len(first) + len(quote) + len(after) - len(gap)
    return _read_value(data, begin, name or _PASSWORD, strict)


def _read_value(
    data: bytes, begin: int, name: Name, strict: bool, for_shells: bool = False
) -> "tuple[int, int] | None":
    """Where the value that begins here ends, if it is a secret."""
    head = data[begin : begin + 12]
    inner = head.lstrip(b"bfruBFRUL@")
    inner = inner if inner.lstrip(b"\\")[:1] in _QUOTES and inner else head
    unescaped = inner.lstrip(b"\\")
    quote = inner[: len(inner) - len(unescaped) + 1] if unescaped[:1] in _QUOTES and unescaped else b""
    closing = quote
    once = inner[max(0, len(inner) - len(unescaped) - 1) :]  # in raw JSON, there are more backslashes
    for spelled, closes in _SPELLED_QUOTES.items():
        if once.startswith(spelled):
            begin += len(inner) - len(once)
            quote, closing = spelled, closes
    if quote and inner.startswith(3 * quote):  # """ of Python
        begin += 2 * len(quote)
    if not quote:
        if name.word.lower() == "passphrase":
            line = data[begin : begin + 100].translate(_TO_LINES).partition(b"\n")[0].partition(b"\\n")[0]
            if b" " in line and is_passphrase(line.decode("utf-8", "replace")):
                return begin, begin + len(line)
        text = _until_blank(data, begin, _BARE, _ENOUGH).rstrip(b".:")
        if data[begin + len(text) : begin + len(text) + 1] in AFTER_CODE and len(data) > begin + len(text):
            return None
        if not _is_worth(name, text, False, strict, for_shells):
            return None
        text = text if len(text) < _ENOUGH - 8 else _until_blank(data, begin, _BARE, _LONGEST).rstrip(b".:")
        return begin, begin + len(text)
    begin += len(head) - len(inner) + len(quote)
    end = _closing(data, begin, closing)
    text = data[begin:end]
    if b" " in text.strip():
        if name.kind in ("password", "secret") and not strict and is_passphrase(text.decode("utf-8", "replace")):
            return begin, end
        if name.word.lower() in _SHORT and name.word.lower() != "pw":
            return None
    text = text.translate(_TO_BLANKS).partition(b" ")[0]
    text = text[:-1] if quote[:1] != b"\\" and text.endswith(b"\\") else text
    return (begin, begin + len(text)) if _is_worth(name, text, True, strict, for_shells) else None


def _until_blank(data: bytes, begin: int, blanks: bytes, longest: int) -> bytes:
    return data[begin : begin + longest].translate(blanks).partition(b" ")[0]


_TO_BLANKS = bytes.maketrans(bytes(range(33)) + b"\x7f", b" " * 34)
_TO_LINES = bytes.maketrans(b"\"',;|\r", b"\n" * 6)


def _is_worth(name: Name, text: bytes, quoted: bool, strict: bool, for_shells: bool) -> bool:
    value = text[:_ENOUGH].decode("utf-8", "replace")
    if b"[redacted:" in text:
        return False
    if strict or name.kind == "credential":
        return is_strong(value) or (not strict and quoted and is_credential(value, "basic"))
    return is_secret(name.word, value, quoted, for_shells)


def _closing(data: bytes, begin: int, quote: bytes) -> int:
    """Where a quoted value ends: at its quote, not at an escaped one; else at the end of the line."""
    limit = begin + _LONGEST
    end = data.find(quote, begin, limit)
    for _ in range(64):
        if end <= begin or quote[:1] == b"\\" or data[end - 1 : end] != b"\\" or data[end - 2 : end] == b"\\\\":
            break
        end = data.find(quote, end + 1, limit)
    line = data.find(b"\n", begin, end if end >= 0 else limit)
    return min(limit, len(data)) if end < 0 and line < 0 else line if line >= 0 else end


def _element(data: bytes, begin: int, rest: bytes, name: Name) -> "tuple[int, int] | None":
    text = rest.lstrip(b" \t\r\n")
    text = text.removeprefix(b"<![CDATA[")
    begin += len(rest) - len(text)
    end = data.find(b"<", begin, begin + 4096)
    for mark in (b"&lt;", b"\\u003c", b"\\\\u003c") if end < 0 else ():
        end = data.find(mark, begin, begin + 4096) if end < 0 else end
    end = begin + len(data[begin : begin + 4096].partition(b"\n")[0]) if end < 0 else end
    value = _normal(data[begin:end]).rstrip(b" \t\r\n]")
    if not value:
        return None
    if b" " in value:
        strong = any([is_strong(word.strip(b"{}").decode("utf-8", "replace")) for word in value.split()])
        return (begin, begin + len(value)) if strong else None
    return (begin, begin + len(value)) if _is_worth(name, value, True, name.strict, False) else None


def _pair(rest: bytes) -> int:
    """How far it is to the sign after `value`, where a name and its value are entries of their own."""
    text = rest[:120].lstrip(_CLOSERS)
    if text[:2] == b"</":
        text = text.partition(b">")[2]
    text = text.lstrip(b" \t\r\n,;<\\\"'/>-{")
    if text[:6] == b'name="' and b" value=" in text[:60]:  # <input type="password" name="x" value="y">
        text = text[text.find(b" value=") + 1 :]
    names = (b"value", b"string", b"content", b"default", b"parametervalue", b"secretvalue")
    word = next((word for word in names if text[: len(word)].lower() == word), b"")
    if not word or rest[:1] in b"=:":
        return 0
    follows = text[len(word) :].lstrip(b"\\\"' \t")[:1]
    return len(rest[:120]) - len(text) + len(word) if follows in (b"=", b":", b">") else 0


def _normal(text: bytes) -> bytes:
    for first, spellings in _SPELLINGS.items():
        if text.find(first) >= 0:
            for spelling, sign in spellings:
                text = text.replace(spelling, sign)
    if text.find(b"\x1b[") >= 0 or text.find(b"\\u001b[") >= 0:
        text = _without_colours(text)
    return text


def _without_colours(text: bytes) -> bytes:
    """The same text with blanks in the place of colours such as ESC[32m."""
    for mark in (b"\x1b[", b"\\u001b["):
        at = text.find(mark)
        while at >= 0:
            code = text[at + len(mark) : at + len(mark) + 16]
            end = at + len(mark) + len(code) - len(code.lstrip(DIGITS + b";")) + 1
            text = text[:at] + b" " * min(end - at, len(text) - at) + text[end:]
            at = text.find(mark, at)
    return text


def _sets(before: bytes) -> bool:
    """Whether what stands before the name is a call that sets something."""
    call, bracket, quote = before.lower().rpartition(b"(")
    return bracket != b"" and not quote.strip(b"\\\"'`") and call.endswith(_SETTERS)


def _is_said(gap: bytes, name: Name) -> bool:
    """Whether the word after `password` can hardly be prose or code: it mixes capitals, small letters and digits."""
    word = gap.translate(_BARE).partition(b" ")[0]
    return name.kind == "password" and len(word) > 7 and is_mixed(word) and not word.islower()


def _is_netrc(data: bytes, start: int, name: Name) -> bool:
    return name.kind == "password" and b"login" in data[max(0, start - 120) : start]


def _authorization(data: bytes, end: int) -> "Found | None":
    rest = _normal(data[end : end + 24])
    after = rest.lstrip(b"\\\"'`]").lstrip(b" \t")
    if after[:1] not in b":=," or not after:
        return None
    after = after[1:].lstrip(b" \t").lstrip(b"\\").lstrip(b"\"'`")
    return _credential(data, end + len(rest) - len(after), b"")


def _credential(data: bytes, end: int, scheme: bytes) -> "Found | None":
    """The credential of an Authorization header, after its scheme if it has one."""
    rest = data[end : end + 64]
    begin = end + len(rest) - len(rest.lstrip(b" \t:"))
    words = data[begin : begin + 2 * _ENOUGH].translate(_HEADER).split(b" ", 12)
    second = next((word for word in words[1:9] if word), b"")
    value = words[0]
    if value.startswith(b"AWS4-"):  # a signature, which nobody can use again
        return None
    if not scheme and value.isalpha() and second:
        scheme, value = value, second
        begin = data.find(value, begin + len(scheme))
    if len(value) > _ENOUGH - 64:
        value = _until_blank(data, begin, _HEADER, _LONGEST)
    end = begin + len(value)
    if (data[end : end + 1] in AFTER_CODE and len(data) > end) or data[begin - 2 : begin] == b"${":
        return None
    if value.startswith(b"redacted:") and data[end : end + 1] == b"]":
        return None
    if not is_credential(value[:_ENOUGH].decode(), scheme.decode()):
        return None
    return begin, end, "authorization", "what an Authorization header carries"


_NOT_IN_HEADERS = bytes(range(256)).translate(None, LETTERS + DIGITS + b"_.~+/:=-")
_HEADER = bytes.maketrans(_NOT_IN_HEADERS, b" " * len(_NOT_IN_HEADERS))


def _url(data: bytes, at: int) -> "Found | None":
    """A password before the host of an address."""
    slashes = data[at + 1 : at + 12]
    begin = at + 1 + len(slashes) - len(slashes.lstrip(b"\\/"))
    authority = data[begin : begin + 1024].translate(_URL).partition(b" ")[0]
    user, colon, rest = authority.partition(b":")
    password, sign, host = rest.rpartition(b"@")
    port = password.lstrip(DIGITS)
    if not colon and b"@" in user:  # https://TOKEN@host
        user = user.rpartition(b"@")[0]
        return (begin, begin + len(user), "token", "a token in an address") if is_strong(user.decode()) else None
    if not sign or not colon or b"@" in user or host.startswith(b"sha256:") or port[:1] in (b"?", b"#"):
        return None
    if b"[redacted" in password or not is_url_password(password.decode()):
        return None
    begin += len(user) + 1
    return begin, begin + len(password), "url-password", "a password in an address"


def _flag(data: bytes, at: int) -> "Found | None":
    """-u user:password and -p password of commands that take them."""
    before = data[max(0, at - 400) : at].lower()
    before = before.replace(b"\\\n", b"  ").replace(b"\\\\\\n", b"    ")  # a command goes on after a backslash
    for end in (b"&&", b";", b"|", b"\n", b"\\n"):
        before = before.rpartition(end)[2]
    command = max(_COMMANDS, key=lambda name: (before.rfind(name) >= 0, before.rfind(name) + len(name), len(name)))
    place = before.rfind(command)
    if place < 0 or before[place - 1 : place].isalnum():
        return None
    flag = data[at + 2 : at + 3]
    if command not in _OTHER_FLAGS.get(flag, (command,)):
        return None
    if flag == b"S":
        return _piped(data, at, at, "sudo")
    return _flag_value(data, at + 3, flag, command, f"-{flag.decode()}")


def _flag_value(data: bytes, at: int, flag: bytes, command: bytes, shown: str) -> "Found | None":
    rest = data[at : at + 509]
    gap = rest.lstrip(b" =") if flag in b"uU" or _COMMANDS[command] else rest
    begin = at + len(rest) - len(gap)
    inner = gap.lstrip(b"\\").lstrip(b"\"'")
    opened = gap[: len(gap) - len(inner)]
    begin += len(opened)
    text = (inner.partition(opened)[0] if opened else inner.partition(b" ")[0]).translate(_TO_BLANKS).partition(b" ")[0]
    text = text.partition(b"\\n")[0].rstrip(b"\\\"'")
    if flag in b"uU":
        user, colon, text = text.partition({b"curl": b":", b"lftp": b",", b"smbclient": b"%"}.get(command, b"\0"))
        begin += len(user) + 1
        if not colon or b"/" in user or (command == b"curl" and text.isdigit()):
            return None
    elif command == b"curl" or text.isdigit():
        return None
    if text[:1] in b"-$" or b"[redacted" in text or not is_url_password(text.decode("utf-8", "replace")):
        return None
    return begin, begin + len(text), "password", f"the password of a command, {shown}"
