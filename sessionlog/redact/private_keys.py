"""Private keys in blocks of text."""

from sessionlog.redact.detector import Detector

# A truncated block has no end, and source code that only names the header has no key behind it. The key may stand in
# numbered lines, in a diff, in a comment, or in a string with its line ends spelled out.
_MARGIN = r"(?:\s|\\{1,8}[nrt]|\d{1,6}(?:[:|→]|\\u2192)|[\"'`+,>|#*-]){1,40}"
_PEM = (
    r"(?s)-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
    rf"(?={_MARGIN}(?:[A-Z][\w-]{{1,30}}: [^\n\\]{{0,200}}{_MARGIN}){{0,4}}[A-Za-z0-9+/=]{{16}})"
    r"(?:.*?-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}|.*)"
)
_PUTTY = rf"Private-Lines: \d+(?P<secret>(?:{_MARGIN}[A-Za-z0-9+/=]{{16,}})+)"

PRIVATE_KEYS = (
    Detector("private-key", _PEM, rule="a block with the header of a private key", turn=1),
    Detector("private-key", _PUTTY, rule="the private lines of a PuTTY key", turn=1),
)
