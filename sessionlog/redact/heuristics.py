"""Secret or not: what a form alone cannot tell. Imported only when something has the form of a secret."""

SHORTEST = 6  # what is shorter is no password
DIGITS = "0123456789"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ENDS_OF_NAMES = ("password", "passwd", "passphrase", "pwd", "_pass", "密码", "secret", "key", "token", "authorization")
_MACHINE_MADE = ("secret", "key", "token", "令牌", "密钥", "токен")

# What stands where a secret would, in examples, schemas, types and translations.
_WORDS = (
    " basic bearer changeme default disabled enabled encrypted false hidden incorrect invalid masked missing none null "
    "nullable number object optional pass passwd password passphrase plaintext private pwd redacted required secret "
    "string token true undefined unknown unset user username x-oauth-basic xxx "
)
_NUMBERED = " aes base bcrypt blake bytes char float int md number sha string uint utf varchar "
_ALGORITHMS = ("ed25519", "x25519", "curve25519", "ed448", "x448", "secp256k1", "secp256r1", "secp384r1", "pkcs8")
_HINTS = ("your", "example", "placeholder", "change", "required", "replace", "xxxx", "....", "${", "{{", "://")
_SEPARATORS = str.maketrans("-_./:+~=", " " * 8)
_CASES = str.maketrans(LETTERS + DIGITS, "A" * 26 + "a" * 26 + "0" * 10)
_CLASSES = str.maketrans(LETTERS + DIGITS, "a" * 52 + "0" * 10)
_HEXADECIMAL = "0123456789abcdef-"
_PUBLIC_KEYS = (
    "MFkwEwYH",
    "MIIBIjAN",
    "MCowBQYD",
    "MHYwEAYH",
    "AAAAB3Nz",
    "AAAAC3Nz",
    "AAAAE2Vj",
)  # what they begin with
_LABELS = frozenset(
    "adgangskode authentication contraseña credential heslo jelszó kennwort lozinka lösenord password passwort "
    "passwords passphrase parola parole required salasana senha undefined username wachtwoord xmlstring пароль".split()
)
# Words of labels and of help.
_PROSE = frozenset(
    "a an and are as at be by can characters choose confirm contain does enter field for forgot from has have "
    "if in invalid is it its key least length letters long match minimum must name new no not of old on or "
    "password please repeat required reset same secret set should sign strong that the this to token too type "
    "use user username using value weak will with wrong you your".split()
)


def is_secret(name: str, value: str, quoted: bool, for_shells: bool) -> bool:
    """Whether the value given to a name is a secret, and not code, a type, a path, a label or a placeholder.

    A password may be any word; a key or token is made by a machine and mixes letters and digits.
    """
    value = _without_algorithms(value)
    low = value.lower()
    machine_made = name.lower().endswith(_MACHINE_MADE)
    if len(value) < (8 if machine_made else SHORTEST) or _is_placeholder(low) or _is_path(value):
        return False
    literal, digits = quoted or for_shells, has_digit(value)
    word = value if literal else max(value.translate(_SEPARATORS).split(), key=len, default="")
    if _is_shuffled(word, literal or digits) and not any(name in low for name in ("key", "token", "secret", "pass")):
        return True
    if value.isalpha():
        if value.istitle():  # and not the label of a field, in any language
            return quoted and not machine_made and len(value) > 7 and low not in _LABELS
        return literal and value.islower() and (not machine_made or (for_shells and name.isupper()))
    if not literal and (not digits or _is_code(value)):
        return False
    if machine_made:
        return digits and (low.islower() or len(value) > 23) and not _is_wordy(low)
    return not _is_wordy(low) or (digits and (literal or value.isalnum()))


def is_strong(value: str) -> bool:
    """Whether the value alone shows that a machine made it at random; a name near it then says what it is."""
    value = _without_algorithms(value)
    low = value.lower()
    if not 12 <= len(value) <= 512 or _is_placeholder(low) or _is_path(value) or len(set(low)) < 7:
        return False
    if value.startswith(_PUBLIC_KEYS):
        return False
    if not low.strip(_HEXADECIMAL):
        return len(low.replace("-", "")) >= 16 and has_digit(low) and not low.replace("-", "").isdigit()
    return looks_random(value)


def _without_algorithms(value: str) -> str:
    """The digits in names such as ed25519 are none that chance has put there."""
    low = value.lower()
    for name in _ALGORITHMS:
        at = low.find(name)
        while at >= 0:
            value = value[:at] + "e" * len(name) + value[at + len(name) :]
            at = low.find(name, at + len(name))
    return value


def looks_random(value: str) -> bool:
    """Letters, capitals and digits change places as chance does it, and not as in the names of things."""
    words = value.translate(_SEPARATORS).split()
    if sum(map(len, words)) < 12:
        return False
    if value == value.upper() and sum(map(_changes, words)) > 4:  # as in A1B2C-D3E4F-…
        return True
    return any(len(word) > 9 and _is_random(word) for word in words)


def _is_random(word: str) -> bool:
    changes = _changes(word)
    if changes < 3:
        return False
    if word == word.lower() or word == word.upper():
        return changes >= len(word) // 8
    cases = word.translate(_CASES)
    turns = sum(cases.count(turn) for turn in ("aA", "Aa", "a0", "0a", "A0", "0A"))
    return 5 * changes >= len(word) or 2 * turns >= len(word)


def is_echo(value: str) -> bool:
    """Whether the value cannot be anything else where it stands without a name."""
    return len(value) >= 12 and (is_strong(value) or (has_digit(value) and _is_shuffled(value)))


def _changes(word: str) -> int:
    classes = word.translate(_CLASSES)
    return classes.count("a0") + classes.count("0a")


def is_passphrase(value: str) -> bool:
    """Whether a quoted text with blanks is a password, and no label or help."""
    words = value.split()
    low = value.lower()
    if not 10 <= len(value) <= 80 or len(words) > 8 or _is_placeholder(low) or not _PROSE.isdisjoint(low.split()):
        return False
    return has_digit(value) or (len(words) > 3 and low == value and all(word.isalpha() for word in words))


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
    """A bare word that is rather a name or a number: password2, sha256, Uint8Array, Token$1, 0x0B95."""
    stem = value.lower().rstrip(DIGITS).rstrip("$")
    number = value.lstrip("+-")
    if (number[:2].lower() == "0x" and len(number) < 12) or (number != value and number.isdigit()):
        return True
    camel = value[0].isupper() and value[-1].isalpha() and value.strip(LETTERS).isdigit()
    return camel or f" {stem} " in _NUMBERED or stem.endswith(ENDS_OF_NAMES)


def _is_path(value: str) -> bool:
    folder = value.lstrip("~.")
    return folder[:1] == "/" and (folder != value or folder[1:].partition("/")[0].isalpha())


def has_digit(value: str) -> bool:
    return any(digit in value for digit in DIGITS)
