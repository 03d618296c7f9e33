"""Names of secrets with letters that English does not have. Imported only when such a letter is seen."""

# The kind, and its names. A bar stands before and after what is sought of a name: a part without capitals.
NAMES = (
    ("password", "contras|eña|", "has|ło|", "jels|zó|", "paro|lă|", "ş|ifre|", "l|ösen|ord", "slapta|ž|odis"),
    ("password", "κω|δικ|ός", "κω|δικ|ος", "|סיסמ|ה", "|סיסמ|א", "पा|सवर|्ड", "ร|หัสผ|่าน", "m|ật| khẩu"),
    ("password", "كلمة ال|مرور|", "كلمة |السر|", "كلمة |سر|", "п|арол|ь", "п|арол|я", "п|арол|и"),
    ("password", "|密|码", "|密|碼", "口|令|", "パ|ス|ワード", "|비|밀번호", "|암호|"),
    ("token", "|令|牌", "|トークン|", "|토큰|", "т|окен|", "т|окен|а"),
    ("secret", "с|екрет|", "|シークレ|ット", "sec|rèt|e", "clé sec|rèt|e"),
    (
        "api-key",
        "|密|钥",
        "|密|鑰",
        "秘|密|鍵",
        "к|люч|",
        "к|люч| доступа",
        "sch|lüs|sel",
        "c|lé|",
        "c|lé| api",
    ),
)
# The part that is sought, the name, its kind, and how far before the part it begins. Longer names go first.
TABLE = sorted(
    (
        (part.encode(), before + part + after, kind, len(before.encode()))
        for kind, *names in NAMES
        for before, part, after in (name.split("|") for name in names)
    ),
    key=lambda row: -len(row[1]),
)
_BY_PART: "dict[bytes, list[tuple[str, str, int]]]" = {}
for _part, _name, _kind, _offset in TABLE:
    _BY_PART.setdefault(_part, []).append((_name, _kind, _offset))
_SIZES = sorted({len(part) for part in _BY_PART}, reverse=True)
# Latin, Greek, Cyrillic, Hebrew, Arabic, Devanagari and Thai, Vietnamese: by the first byte of a letter.
_SOUGHT = {
    lead: tuple({part for part in _BY_PART if lead in part})
    for lead in (b"\xc3", b"\xc4", b"\xc5", b"\xce", b"\xd0", b"\xd7", b"\xd8", b"\xd9", b"\xe0", b"\xe1")
}
_SOUGHT[b"\xc5"] = (*_SOUGHT[b"\xc5"], b"ifre")


def places(data: bytes) -> list[int]:
    """Where a part of one of the names is, but for those of Chinese, Japanese and Korean, which rules.py seeks."""
    found = set()
    for lead, parts in _SOUGHT.items():
        for part in parts if lead in data else ():
            at = data.find(part)
            while at >= 0:
                found.add(at)
                at = data.find(part, at + 1)
    return [*found]


def name_at(data: bytes, at: int) -> "tuple[int, int, str, str] | None":
    """The longest name with its part here: where it begins and ends, the name, its kind."""
    for size in _SIZES:
        for name, kind, offset in _BY_PART.get(data[at : at + size], ()):
            start = at - offset
            end = start + len(name.encode())
            if start >= 0 and data[start:end].decode("utf-8", "replace").lower() == name:
                return start, end, name, kind
    return None
