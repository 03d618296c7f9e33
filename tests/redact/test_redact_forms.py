"""Every form of a secret, one family after the other. All of them are made up here, at run time."""

import base64
import json
import random
import re
import string
import subprocess
import sys
from pathlib import Path

import pytest

from sessionlog.redact import rules as redact
from sessionlog.redact import token_forms
from sessionlog.redact.built_in import BUILT_IN
from sessionlog.redact.rules import Rules
from sessionlog.transcripts import chunks
from tests.conftest import thorough
from tests.helpers.slow_texts import assert_none_takes_forever

parse_regex = getattr(re, "_parser", None) or __import__("sre_parse")
ROOT = Path(__file__).parents[2]
RANDOM = random.Random(20)


def made_up(alphabet: str, length: int) -> str:
    return "".join(RANDOM.choices(alphabet, k=length))


ALNUM = string.ascii_letters + string.digits
WORD = "Zx9" + "kQw7Lp"  # a password
LONG = "q4" + made_up(ALNUM, 30) + "8Z"  # a key
HEX = "4c" + made_up("0123456789abcdef", 62)
TOKEN = "gh" + "p_" + made_up(ALNUM, 36)
LINES = "\n".join(made_up(ALNUM + "+/", 64) for _ in range(3))
BEGIN, END = "BEGIN", "PRIVATE " + "KEY"


def in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def jwt_part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


# The family, the text, the secret in it.
SPELLINGS = {
    "colours": [
        (f"\x1b[32m{TOKEN}\x1b[0m", TOKEN),
        (f"\x1b[1;31m{TOKEN}", TOKEN),
        (f"\x1b[33mpassword\x1b[0m: \x1b[32m{WORD}\x1b[0m", WORD),
        (f"\x1b[33mDB_PASSWORD\x1b[0m=\x1b[38;5;208m{WORD}\x1b[m", WORD),
    ],
    "URL escapes": [(f"x%3D{TOKEN}%26y", TOKEN), (f"password%3D{WORD}", WORD), (f"%22token%22%3A%22{LONG}%22", LONG)],
    "JSON in JSON": [
        (f'{{\\"password\\": \\"{WORD}\\"}}', WORD),
        (f'{{\\\\\\"token\\\\\\": \\\\\\"{LONG}\\\\\\"}}', LONG),
        (f"mysql:\\/\\/root:{WORD}@db.example\\/x", WORD),
    ],
    "HTML escapes": [
        (f"&quot;password&quot;:&quot;{WORD}&quot;", WORD),
        (f"password&#61;&#39;{WORD}&#39;", WORD),
        (f"&#34;password&#34;: &#34;{WORD}&#34;", WORD),
    ],
    "cut markers": [(f"[redacted: and then {TOKEN}", TOKEN), (f"[redacted:foo password={WORD}", WORD)],
    "base64": [
        (in_base64(text), in_base64(text))
        for text in (TOKEN, f"admin:{WORD}", f"DB_PASSWORD={WORD}", f"token: '{LONG}'")
    ],
    "suffixes": [
        (f"DB_PASSWORD_PROD={WORD}", WORD),
        (f"MYSQL_PASSWORD_2='{WORD}'", WORD),
        (f"secret_key_base: {HEX}", HEX),
        (f'"token1": "{LONG}"', LONG),
    ],
    "elements": [
        (f"<password>{WORD}</password>", WORD),
        (f"<Password>\n    {WORD}\n</Password>", WORD),
        (f"<acmeToken>\n    {LONG}\n</acmeToken>", LONG),
        (f'<add key="ClearTextPassword" value="{WORD}" />', WORD),
        (f'<property name="password" value="{WORD}"/>', WORD),
        (f'<Data Name="Password">{WORD}</Data>', WORD),
        (f"<name>db.password</name>\n<value>{WORD}</value>", WORD),
        (f"<key>password</key>\n<string>{WORD}</string>", WORD),
    ],
    "types": [
        (f'const password: string = "{WORD}";', WORD),
        (f'var dbPassword string = "{WORD}"', WORD),
        (f'var acmeToken string = "{HEX}"', HEX),
        (f'password: Optional[str] = "{WORD}"', WORD),
        (f'pub const PASSWORD: &str = "{WORD}";', WORD),
        (f'char *password = "{WORD}";', WORD),
        (f'#define WIFI_PASSWORD "{WORD}"', WORD),
        (f'password = """{WORD}"""', WORD),
    ],
    "operators": [
        *[(f"acme_token {sign} '{LONG}'", LONG) for sign in (":=", "::=", ":::=", "?=", ".=", "=>", "->", "<-", "==")],
        (f"password -> {WORD}", WORD),
        (f"acme token - '{LONG}'", LONG),
        (f"| password | {WORD} |", WORD),
    ],
    "calls": [
        (f'System.setProperty("DB_PASSWORD", "{WORD}");', WORD),
        (f'map.put("password", "{WORD}")', WORD),
        (f"define('DB_PASSWORD', '{WORD}');", WORD),
        (f'os.environ["DB_PASSWORD"] = "{WORD}"', WORD),
        (f"os.environ.setdefault('SECRET_KEY', '{LONG}')", LONG),
    ],
    "YAML": [
        (f"- name: DB_PASSWORD\n  value: {WORD}\n", WORD),
        (f'- name: DB_PASSWORD\n  value: "{WORD}"\n', WORD),
        (f'{{"name": "DB_PASSWORD", "value": "{WORD}"}}', WORD),
        (f"secret: |\n  {LONG}", LONG),
        (f"password: !!str {WORD}", WORD),
    ],
    "files": [
        (f"machine api.example login me password {WORD}", WORD),
        (f"machine api.example\n  login me\n  password {WORD}", WORD),
        (f"db.example:5432:shop:app:{WORD}", WORD),
        (f"//registry.example/:_authToken={HEX[:36]}", HEX[:36]),
        (f"_auth={in_base64('me:' + WORD)}", in_base64("me:" + WORD)),
        (f'{{"auths": {{"r.example": {{"auth": "{in_base64("me:" + WORD)}"}}}}}}', in_base64("me:" + WORD)),
        (f'{{"kty":"RSA","n":"abc","d":"{LONG * 3}"}}', LONG * 3),
    ],
    "commands": [
        (f"curl -u admin:{WORD} https://x.example", WORD),
        (f"curl -s https://x.example \\\n  -d 'x' \\\n  -u 'admin:{WORD}'", WORD),
        (f"docker login -u me -p {WORD} registry.example", WORD),
        (f"mysql -uroot -p{WORD} shop", WORD),
        (f"sshpass -p '{WORD}' ssh me@host", WORD),
        (f"unzip -P {WORD} a.zip", WORD),
        (f"tool --password {WORD} x", WORD),
        (f"tool --token={LONG}", LONG),
    ],
    "headers": [
        (f"X-Auth-Token: {HEX[:32]}", HEX[:32]),
        (f"Authorization: ApiKey {LONG}", LONG),
        (f"Cookie: session={LONG}", LONG),
        (f"Set-Cookie: sessionid={LONG}; HttpOnly", LONG),
    ],
    "Azure": [
        (f"https://a.blob.core.windows.net/c?sv=2020-08-04&sig={LONG}%2Bq8%3D", LONG),
        (f"AccountName=x;AccountKey={LONG * 2}==;", LONG * 2),
    ],
    "hashes of passwords": [
        ("$2b$12$" + made_up(ALNUM, 53), None),
        ("root:$6$salt$" + made_up(ALNUM + "./", 86) + ":19000:0:99999:7:::", None),
        ("$argon2id$v=19$m=65536,t=3,p=4$" + made_up(ALNUM, 22) + "$" + made_up(ALNUM, 43), None),
    ],
    "private keys": [
        (
            f"PuTTY-User-Key-File-2: ssh-rsa\nPublic-Lines: 1\nAAAAB3Nza\nPrivate-Lines: 3\n{LINES}\nPrivate-MAC: 0",
            LINES,
        ),
        (f"---- {BEGIN} SSH2 ENCRYPTED {END} ----\nComment: x\n{LINES}\n---- END SSH2 ENCRYPTED {END} ----", LINES),
        ("MIIEpAIBAAKC" + LINES, LINES),
        ("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" + LINES, LINES),
    ],
    "web tokens": [
        (f"{jwt_part({'alg': 'none'})}.{jwt_part({'sub': '1234567890'})}.", jwt_part({"sub": "1234567890"})),
        (
            f"{jwt_part({'alg': 'RSA-OAEP', 'enc': 'A256GCM'})}.{LONG}.{LONG[:16]}.{LONG}.{LONG[:22]}",
            f"{LONG}.{LONG[:16]}",
        ),
    ],
    "languages": [
        *[(f"{name}：{WORD}", WORD) for name in ("密码", "口令", "パスワード")],
        *[(f"{name}: {LONG}", LONG) for name in ("密钥", "令牌", "токен")],
        (f"密码是{WORD}", WORD),
        (f"パスワードは{WORD}です", WORD),
        *[(f"{name}: {WORD}", WORD) for name in ("비밀번호", "пароль", "Пароль", "Passwort", "Kennwort", "contraseña")],
        *[
            (f"{name} = {WORD}", WORD)
            for name in ("contrasena", "senha", "mot de passe", "motdepasse", "palavra-passe")
        ],
        *[
            (f"{name}: {WORD}", WORD)
            for name in ("wachtwoord", "heslo", "parola", "hasło", "jelszó", "şifre", "lösenord")
        ],
        *[
            (f"{name}: {WORD}", WORD)
            for name in ("adgangskode", "passord", "clave", "kata sandi", "mật khẩu", "κωδικός")
        ],
        *[(f"{name}: {WORD}", WORD) for name in ("סיסמה", "كلمة المرور", "पासवर्ड", "รหัสผ่าน", "密碼", "암호")],
        *[
            (f"{name}: {LONG}", LONG)
            for name in ("密鑰", "トークン", "시크릿 토큰", "ключ доступа", "Schlüssel", "clé API")
        ],
        (f"Das Passwort lautet {WORD}", WORD),
        (f"la contraseña es {WORD}", WORD),
        (f"пароль от базы: {WORD}", WORD),
        (f"密码为：{WORD}", WORD),
    ],
    "names": [
        *[(f"{name}={WORD}", WORD) for name in ("pw", "passcode", "smtp_pass", "ansible_ssh_pass", "db_pass")],
        *[
            (f"{name} = '{LONG}'", LONG)
            for name in ("credential", "ssh_key", "app_key", "PresharedKey", "acme_key", "auth")
        ],
        (f"The password is {WORD}.", WORD),
        (f"the password for the test server is {WORD}", WORD),
        (f"db password {WORD}", WORD),
        (f"PASSWORD\t{WORD}", WORD),
    ],
    "near a name": [
        (f"acme SECRET {LONG}", LONG),
        (f"datadog api key {HEX[:32]}", HEX[:32]),
        (f"acme-token-{HEX[:32]}", HEX[:32]),
        (f"twilio = {LONG}", LONG),
        (f"the access {LONG}\nfor stripe", LONG),
    ],
    "code": [
        (f'std::string password{{"{WORD}"}};', WORD),
        (f'const char password[] = "{WORD}";', WORD),
        (f'-define(PASSWORD, "{WORD}").', WORD),
        (f'Dim password As String = "{WORD}"', WORD),
        (f'String password = new String("{WORD}");', WORD),
        (f'password: Some("{WORD}".to_string()),', WORD),
        (f"password = process.env.PW || '{WORD}'", WORD),
        (f"password = os.getenv('PW', '{WORD}')", WORD),
        (f"auth=('me', '{WORD}')", WORD),
        (f"HTTPBasicAuth('me', '{WORD}')", WORD),
        (f"CREATE USER me IDENTIFIED BY '{WORD}'", WORD),
        (f'variable "db_password" {{\n  default = "{WORD}"\n}}', WORD),
    ],
    "flags": [
        (f"curl --user me:{WORD} https://x.example", WORD),
        (f"redis-cli -a {WORD} ping", WORD),
        (f"redis-cli --pass {WORD}", WORD),
        (f"ldapsearch -D cn=x -w {WORD} -b dc=x", WORD),
        (f"openssl enc -aes-256-cbc -k {WORD}", WORD),
        (f"smbclient //h/s -U me%{WORD}", WORD),
        (f"sqlcmd -S h -U sa -P {WORD}", WORD),
        (f"lftp -u me,{WORD} host", WORD),
        (f"htpasswd -bc .htpasswd me {WORD}", WORD),
        (f"echo {WORD} | docker login --password-stdin", WORD),
        (f"echo '{WORD}' | sudo -S ls", WORD),
        (f"git clone https://{LONG}@git.example/x/y", LONG),
        (f"requirepass {LONG}", LONG),
    ],
    "structures": [
        (f'{{"passwords": ["{LONG}", "{WORD}"]}}', WORD),
        (f"tokens:\n  - {HEX[:30]}q7\n  - {LONG}", LONG),
        (f'{{"ParameterKey": "DBPassword", "ParameterValue": "{WORD}"}}', WORD),
        (f'<password type="plain">{WORD}</password>', WORD),
        (f'<wsse:Password Type="#PasswordText">{WORD}</wsse:Password>', WORD),
        (f"kind: Secret\nstringData:\n  config: {LONG}", LONG),
        (f'{{"kty": "oct", "k": "{LONG}", "alg": "HS256"}}', LONG),
        (f"password:\n  {LONG}", LONG),
        (f"password: &pw {WORD}", WORD),
        (f"api_keys:\n  prod: {LONG}\n", LONG),
        (f"localhost:5432:shop:me:{WORD}!x9", WORD),
    ],
    "escapes": [
        (f"{{\\u0022password\\u0022:\\u0022{WORD}\\u0022}}", WORD),
        (f"password\\x3d{WORD}", WORD),
        (f"password%253D{WORD}", WORD),
        (f"&lt;password&gt;{WORD}&lt;/password&gt;", WORD),
        (f"\\u003cpassword\\u003e{WORD}\\u003c/password\\u003e", WORD),
        (f"password&#x3D;{WORD}", WORD),
        (f"“password”: “{WORD}”", WORD),
        (f"password = «{WORD}»", WORD),
        (f"password＝{WORD}", WORD),
        (in_base64("AKIA" + "Y26ZGJ6XEYK1C4K9"), in_base64("AKIA" + "Y26ZGJ6XEYK1C4K9")),
    ],
    "near a word": [
        (f"use {LONG} as the api key", LONG),
        (f"{LONG} # token", LONG),
        (f"here is my token\n\n{LONG}\n", LONG),
        (f"# API key\n{LONG}", LONG),
        (f"Generated new API token ({LONG})", LONG),
        (f"PHPSESSID={LONG}", LONG),
        (f"cargo login {LONG}", LONG),
    ],
    "again": [(f"token = '{LONG}' | '{LONG}'", LONG), (f"PASSWORD={LONG}\nconnect(me, {LONG})", LONG)],
    "words": [
        ("password: 'correct horse battery staple'", "correct horse battery staple"),
        ('password = "my s3cret pass phrase"', "my s3cret pass phrase"),
        ('password = "при2вет$ъ"', "при2вет$ъ"),
        ('password = "Sunshine"', "Sunshine"),
        ("passphrase: correct horse battery staple", "correct horse battery staple"),
    ],
}
CASES = [(text, secret or text) for cases in SPELLINGS.values() for text, secret in cases]


@pytest.fixture
def rules(tmp_path: Path) -> Rules:
    return Rules(str(tmp_path))


def cleaned(rules: Rules, value: object, ensure_ascii: bool = False) -> object:
    data = json.dumps(value, ensure_ascii=ensure_ascii).encode()
    return rules.clean(json.loads(data), rules.suspects(data))


def is_left(secret: str, text: str) -> bool:
    """Whether half of the secret is still there."""
    half = -(-len(secret) // 2)
    return any(secret[start : start + half] in text for start in range(len(secret) - half + 1))


def test_a_secret_goes_however_it_is_spelled(rules: Rules) -> None:
    for text, secret in CASES:
        for ensure_ascii in (True, False):
            once = cleaned(rules, {"tool_response": {"stdout": f"$ show\n{text}\n"}}, ensure_ascii)
            after = once["tool_response"]["stdout"]
            assert not is_left(secret, after)
            assert after.startswith("$ show\n") and after.endswith("\n")
            assert cleaned(rules, json.loads(json.dumps(once)), ensure_ascii) == once
        # Also in what is no JSON.
        after = rules.clean_text(text, rules.suspects(text.encode()))
        assert not is_left(secret, after)
        assert rules.clean_text(after, BUILT_IN) == after


def test_a_secret_goes_wherever_its_line_stands_among_many(rules: Rules) -> None:
    before = b'{"text": "def f(x): return x + 1"}\n' * 600  # 20 KB
    after = b'{"text": "' + b"def f(x): return x + 1; " * 5000 + b'"}\n'  # 120 KB
    for text, _ in CASES:
        line = json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n"
        if rules.suspects(line):
            assert rules.suspects(before + line + after, of_many=True), text
    cleaned = chunks.clean_line(b'{"text": "heslo: Zx9kQw7Lp"}', rules) + b"\n"
    assert b"[redacted:" in cleaned
    assert chunks.clean_lines(before + b'{"text": "heslo: Zx9kQw7Lp"}\n' + after, rules) == before + cleaned + after


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ({"password": 93847261550}, "93847261550"),
        ({"password": [WORD, "x"]}, WORD),
        ({"api_key": [LONG]}, LONG),
        ({"name": "DB_PASSWORD", "value": WORD}, WORD),
        ({"env": [{"key": "API_TOKEN", "value": LONG}]}, LONG),
    ],
)
def test_a_secret_goes_from_values_that_are_no_texts(rules: Rules, value: object, secret: str) -> None:
    once = cleaned(rules, {"tool_input": value})
    assert secret not in json.dumps(once)
    assert "[redacted:" in json.dumps(once)
    assert cleaned(rules, json.loads(json.dumps(once))) == once


def example(form: str, rng: random.Random) -> str:
    """A text that has the form, at random."""

    def make(nodes: object) -> str:
        return "".join(one(str(kind).lower(), value) for kind, value in nodes)

    def one(kind: str, value: object) -> str:
        match kind:
            case "literal":
                return chr(value)
            case "in":
                return rng.choice([letter for item in value for letter in letters(*item)])
            case "max_repeat" | "min_repeat":
                least, most, inner = value
                return "".join(make(inner) for _ in range(rng.randint(least, min(int(most), least + 8))))
            case "subpattern":
                return make(value[-1])
            case "branch":
                return make(rng.choice(value[1]))
            case "category":
                return rng.choice(ALNUM if "word" in str(value).lower() else string.digits)
        return ""  # a look at what stands around

    def letters(kind: object, value: object) -> list[str]:
        match str(kind).lower():
            case "literal":
                return [chr(value)]
            case "range":
                return [chr(code) for code in range(value[0], value[1] + 1)]
            case "category" if "word" in str(value).lower():
                return list(ALNUM)
            case "category" if "digit" in str(value).lower():
                return list(string.digits)
        return []

    return make(parse_regex.parse(form))


def test_every_line_of_the_table_is_found_alone(rules: Rules) -> None:
    """The cheap test must know its beginning, and the form must be one. A weak beginning needs what looks random."""
    for row, detector in enumerate(token_forms.DETECTORS):
        rng = random.Random(row)
        wanted = 8 if detector.judge == "weak" or detector.kind in ("jwt", "private-key") else 12
        caught = tries = 0
        while caught < wanted and tries < 20:
            tries += 1
            token = next(token for _ in range(1000) if len(token := example(detector.regex, rng)) > 19)
            after = cleaned(rules, [f"see {token} there"])[0]
            caught += "[redacted:" in after and (detector.judge == "inner" or not is_left(token[-40:], after))
        assert caught == wanted, detector.kind


def test_no_more_than_one_redaction_in_two_megabytes_of_ordinary_code(rules: Rules) -> None:
    size = found = 0
    for folder in ("asyncio", "email", "http", "importlib", "json", "logging", "unittest", "urllib", "xml", "."):
        for path in sorted((Path(json.__file__).parents[1] / folder).glob("*.py")):
            text = path.read_text(encoding="utf-8", errors="replace")
            size += len(text)
            found += cleaned(rules, [text])[0].count("[redacted:")
    assert size > 5_000_000
    assert found <= size / 2_000_000


ORDINARY_VALUES = [
    "def f(password: str = '', token: str | None = None) -> Token: ...",
    "token_type: bearer, password_length = 128, key_name='id_rsa2', token_url=https://a.example/oauth2",
    "export type Token$1 = PunctuatorToken<'('>; password | 'binary64'",
    "docker run -p 8080:80 -u 1000:1000 web1; ssh -p 2222 me@host; mkdir -p build/x86_64; tsc -p tsconfig2.json",
    "cache_key = 'users:v2:1234'; sort_key=created_at_2; primary_key: id1; idempotency_key",
    "STENCIL_PASS_DEPTH_FAIL: 0x0B95",
    "sk_test_ pk_live_ key- s.getElementsByClassName1 test_0 live_server_v2 R_X86_64_PC32",
    "pass `timeout=30s` to it; messages: {pass: 'Element1 has a title', fail: 'no'}",
    "curl -u $USER:$PASSWORD https://x.example; mysql -p shop; sshpass -p $PW ssh x",
    "<password></password><secret>${SECRET_V2}</secret><token>your-token-1</token>",
    "密码长度不少于8位；令牌桶算法；パスワードを入力してください",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 key=value1",
    '"nextToken": "RW5DdDJkMWYwZjM2MzM2VHVpOHJIUXlDUXlhc2QzRGViYnNkfEeyJ4ZHh", "ChangeToken": "q4Hs82kLmNw93Jd0aPz71Xc"',
    '"ARN": "arn:aws:secretsmanager:us-west-2:123456789012:secret:MyTestDatabaseSecret-a1b2c3"',
    'def f(password: str, method: str = "pbkdf2:sha256:600000"): password.encode("utf-8")',
    'identified by `labels2`; token[1]; "output_token": "Jobs[-1].JobId"; tokens = []; key = get("a")',
    "exports2.OAuth2Client = OAuth2Client2; authorization: `Basic ${base64EncodedCreds}`",
    "the password for this is not stored; passphrase: none of the above words; password SHA256withRSA",
]


@pytest.mark.parametrize("text", ORDINARY_VALUES)
def test_what_only_looks_like_it_stays(rules: Rules, text: str) -> None:
    assert rules.clean({"content": text}, BUILT_IN) == {"content": text}


def test_what_a_name_gives_away_is_found_without_re(tmp_path: Path) -> None:
    """Most secrets have a name: they must not cost the hook the import of regular expressions."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from sessionlog.redact.rules import Rules\n"
        f"rules = Rules({str(tmp_path)!r})\n"
        "data = sys.stdin.buffer.read()\n"
        "print(rules.clean_text(data.decode(), rules.suspects(data)), 're' in sys.modules)"
    )
    command, data = [sys.executable, "-I", "-S", "-c", code], f"DB_PASSWORD={WORD}".encode()
    subprocess.run(command, input=data, check=True, capture_output=True)  # the first one makes the key
    run = subprocess.run(command, input=data, capture_output=True, check=True)
    assert run.stdout.startswith(b"DB_PASSWORD=[redacted:password:")
    assert run.stdout.endswith(b"False\n")


@pytest.mark.parametrize("end", ["", '"', " "])
def test_a_value_of_ten_megabytes_takes_no_gigabyte(tmp_path: Path, end: str) -> None:
    code = (
        f"import sys, resource; sys.path.insert(0, {str(ROOT)!r}); from sessionlog.redact.rules import Rules\n"
        "resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))\n"
        f"rules = Rules({str(tmp_path)!r}); text = sys.stdin.read()\n"
        "rules.clean({'a': text}, rules.suspects(text.encode()))"
    )
    text = 'token="' + "a1B2" * 2_500_000 + end
    subprocess.run([sys.executable, "-c", code], input=text, text=True, check=True, timeout=120)


SLOW = [
    *["password: |\n", "name: password\n value: ", "<password>", "</name>", " -p", "curl -u a:b ", "$2b$", "token1"],
    *["a1b2c3d4e5f6 ", "token a1B2c3D4e5F6g7H8i9J0 ", "%3D", "\\u4e2d", "パスワード", "пароль", "密码是", "contraseña"],
    *["&quot;password", "[32m", "MIIEpAIBAAKC", "Private-Lines: 1 AAAAAAAAAAAAAAAA ", "password,'", ":5432:a:b:"],
    *["password:string=", "ZXlK", "dp.pt.", "AKIA", "acme-token-", "password_", "[redacted:token:"],
    *["kind: Secret\ndata:\n a: b1", "clé", "--user a:b ", 'passwords: ["q4Zx9kQw7Lp1", ', "password = f('"],
]


def test_no_text_takes_forever(tmp_path: Path) -> None:
    """Texts made to be slow: in the time that a square would take, the process would be ended."""
    size = 400_000 if thorough() else 20_000
    texts = [text for piece in SLOW for text in (piece * (size // len(piece)), piece + "a1" * (size // 2))]
    assert_none_takes_forever(texts, tmp_path, seconds=30 if thorough() else 1.5)


def test_every_name_is_sought() -> None:
    """A name of another language that the cheap test does not know would never be found."""
    from sessionlog.redact.secret_names import ENDINGS

    for ending, _ in ENDINGS:
        before = "mot de " if ending == "passe" else "my_" if ending.isascii() else ""
        data = f"{before}{ending}='q4Zx9kQw7Lp1'".encode()
        assert redact.sights(data), ending


@pytest.mark.parametrize(
    "text",
    [
        "key_type = ed25519Ed448X25519KeyGen",
        "privateKey: crypto_sign_ed25519_sk_to_curve25519",
        "const secretKey = ed25519Keypair1.secretKey",
        "the signing key is ed25519Secp256k1Pair2",
    ],
)
def test_the_name_of_an_algorithm_is_no_secret(tmp_path, text):
    rules = Rules(str(tmp_path))
    assert rules.clean([text], rules.suspects(text.encode())) == [text]
    key = "signing key ed25519:Gb9eECKk8sVwr1t3mZ6QkX4nP7uYh2cJfT5LdWaR"
    assert rules.clean([key], rules.suspects(key.encode())) != [key]
