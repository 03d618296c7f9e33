"""Secret or not: what a form alone cannot tell. Imported only when something has the form of a secret."""

from sessionlog.redact import DIGITS, LETTERS, SHORTEST, is_option

ENDS_OF_NAMES = ("password", "passwd", "passphrase", "pwd", "_pass", "密码", "secret", "key", "token", "authorization")

# What stands where a secret would, in examples, schemas, types and translations.
_WORDS = (
    " basic bearer changeme default disabled enabled encrypted false hidden incorrect invalid masked missing none null "
    "nullable number object optional pass passwd password passphrase plaintext private pwd redacted required secret "
    "string token true undefined unknown unset user username x-oauth-basic xxx "
)
_NUMBERED = " aes base bcrypt blake bytes char float int md number sha string uint utf varchar "
_HINTS = ("your", "example", "placeholder", "change", "required", "replace", "xxxx", "....", "${", "{{", "://")
_SEPARATORS = str.maketrans("-_./:", "     ")


def is_secret(name: str, value: str, quoted: bool, for_shells: bool) -> bool:
    """Whether the value given to a name is a secret, and not code, a type, a path, a label or a placeholder.

    A password may be any word; a key or token is made by a machine and mixes letters and digits.
    """
    low = value.lower()
    machine_made = name.lower().endswith(("secret", "key", "token"))
    if len(value) < (8 if machine_made else SHORTEST) or _is_placeholder(low) or _is_path(value):
        return False
    literal, digits = quoted or for_shells, has_digit(value)
    if _is_shuffled(value, literal or digits) and not any(name in low for name in ("key", "token", "secret", "pass")):
        return True
    if value.isalpha():
        return literal and value.islower() and (not machine_made or (for_shells and name.isupper()))
    if not literal and (not digits or _is_code(value)):
        return False
    if machine_made:
        return digits and low.islower() and not _is_wordy(low)
    return not _is_wordy(low) or (digits and (literal or value.isalnum()))


def is_for_shells(name: str, before: str, tight: bool) -> bool:
    """Whether a bare word cannot be code: in NAME=word, in --name=word, in the query of a URL."""
    return tight and (name.isupper() or is_option(before) or before.rstrip(LETTERS + "_-")[-1:] in ("?", "&"))


def is_credential(value: str, scheme: str) -> bool:
    """Whether an Authorization header may carry this."""
    low = value.lower()
    if len(value) < 8 or _is_placeholder(low) or low.endswith(ENDS_OF_NAMES):
        return False
    if has_digit(value):
        return _is_shuffled(value) or (low.islower() and not _is_wordy(low))
    return _is_shuffled(value, scheme.lower() in ("basic", "bearer"))


def is_url_password(value: str) -> bool:
    return len(value) >= 3 and not _is_placeholder(value.lower())


def _is_placeholder(low: str) -> bool:
    if f" {low} " in _WORDS or len(set(low)) == 1 or is_repetitive(low):
        return True
    if (
        low[0] in "<{[:"
        or low[:2] in ("^[", "^(")
        or (low[0] == "$" and not low[1].isdigit())
        or (low[0] == "%" and low[-1] in "%s")
    ):
        return True
    return any(hint in low[:24] for hint in _HINTS)  # further on, a random value has them by chance


def is_repetitive(low: str) -> bool:
    return any(sign * 6 in low for sign in "x*.0#_-")


def _is_wordy(low: str) -> bool:
    """Words, each with two digits at most: my-api-key-v2, us-east-1, oauth2.token."""
    words = low.translate(_SEPARATORS).split()
    stems = [word.rstrip(DIGITS) for word in words]
    return "".join(stems).isalpha() and all(len(word) - len(stem) <= 2 for word, stem in zip(words, stems, strict=True))


def _is_shuffled(value: str, surely_no_code: bool = True) -> bool:
    """Capitals and small letters as chance mixes them, and hardly a name like HTMLInputElement."""
    mixed = min(sum(map(str.isupper, value)), sum(map(str.islower, value)))
    return (
        (len(value) >= 10 and 4 * mixed >= len(value))
        if surely_no_code
        else (len(value) >= 20 and 3 * mixed >= len(value))
    )


def _is_code(value: str) -> bool:
    """A bare word that is rather a name: password2, sha256, Uint8Array."""
    stem = value.lower().rstrip(DIGITS)
    camel = value[0].isupper() and value[-1].isalpha() and value.strip(LETTERS).isdigit()
    return camel or f" {stem} " in _NUMBERED or stem.endswith(ENDS_OF_NAMES)


def _is_path(value: str) -> bool:
    folder = value.lstrip("~.")
    return folder[:1] == "/" and (folder != value or folder[1:].partition("/")[0].isalpha())


def has_digit(value: str) -> bool:
    return any(digit in value for digit in DIGITS)
