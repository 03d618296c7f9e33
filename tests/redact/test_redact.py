"""Secrets never reach the archive, and nothing else is taken for one."""

import base64
import itertools
import json
import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionlog.redact import rules as redact
from sessionlog.redact import token_forms, token_heads
from sessionlog.redact.built_in import BUILT_IN
from sessionlog.redact.rules import Rules
from tests.conftest import thorough
from tests.helpers.slow_texts import assert_none_takes_forever

ROOT = Path(__file__).parents[2]
MARKER = re.compile(r"\[redacted:([a-z0-9-]+):([0-9a-f]{10})\]")

# Made-up tokens, put together here so that secret scanners do not stumble over this file.
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
MIXED = "aZ3kQ9xLm2Rt7Vw1Bc5Yd8Np4Hs6Gf0JuEoTiAeDqXrCyMbKvWnPzSlFhIjUg" * 4
HEX = "0f3a9c7e51b2d8460f3a9c7e51b2d846" * 4
JWT = ".".join(["ey" + "JhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9", "ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0", MIXED[:43]])
BASE64_LINES = "\n".join(MIXED[i : i + 64] for i in range(0, 192, 64))

TOKENS = {
    "age-key": "AGE-SECRET-" + "KEY-1" + (UPPER * 2)[:58],
    "alibaba-key": "LT" + "AI" + MIXED[:20],
    "anthropic-key": "sk-" + "ant-api03-" + MIXED[:93] + "AA",
    "atlassian-token": "ATA" + "TT3" + MIXED[:186],
    "aws-access-key": "AK" + "IA" + UPPER[:16],
    "azure-secret": "abc8" + "Q~" + MIXED[:34],
    "databricks-token": "da" + "pi" + HEX[:32],
    "digitalocean-token": "dop" + "_v1_" + HEX[:64],
    "docker-token": "dckr" + "_pat_" + MIXED[:27],
    "figma-token": "fig" + "d_" + MIXED[:40],
    "github-token": "gh" + "p_" + MIXED[:36],
    "gitlab-token": "gl" + "pat-" + MIXED[:20],
    "google-key": "AI" + "za" + MIXED[:35],
    "google-oauth-secret": "GOC" + "SPX-" + MIXED[:28],
    "google-oauth-token": "ya" + "29." + MIXED[:60],
    "grafana-token": "gl" + "sa_" + MIXED[:32] + "_" + HEX[:8],
    "groq-key": "gs" + "k_" + MIXED[:52],
    "huggingface-token": "h" + "f_" + "AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh",
    "jwt": JWT,
    "linear-key": "lin" + "_api_" + MIXED[:40],
    "notion-token": "nt" + "n_" + MIXED[:46],
    "npm-token": "np" + "m_" + MIXED[:36],
    "nvidia-key": "nva" + "pi-" + MIXED[:64],
    "openai-key": "sk-" + "proj-" + MIXED[:74] + "T3Blbk" + "FJ" + MIXED[:74],
    "perplexity-key": "pp" + "lx-" + MIXED[:48],
    "pypi-token": "pypi-" + "AgEIcHlwaS5vcmc" + MIXED[:80],
    "replicate-token": "r" + "8_" + MIXED[:37],
    "rubygems-key": "ruby" + "gems_" + HEX[:48],
    "sendgrid-key": "S" + "G." + MIXED[:22] + "." + MIXED[:43],
    "sentry-token": "sntr" + "ys_ey" + MIXED[:80],
    "shopify-token": "shp" + "at_" + HEX[:32],
    "sk-key": "s" + "k-" + HEX[:32],
    "slack-token": "xo" + "xb-123456789012-1234567890123-" + MIXED[:24],
    "stripe-key": "sk_" + "live_" + MIXED[:24],
    "supabase-key": "sb" + "p_" + HEX[:40],
    "telegram-token": "123456789" + ":AA" + MIXED[:33],
    "tencent-key": "AK" + "ID" + MIXED[:32],
    "twilio-key": "S" + "K" + HEX[:32],
    "vault-token": "hv" + "s." + MIXED[:90],
    "xai-key": "xa" + "i-" + MIXED[:80],
}
MORE_TOKENS = [
    ("aws-access-key", "AS" + "IA" + UPPER[:16]),
    ("github-token", "github" + "_pat_" + MIXED[:22] + "_" + MIXED[:59]),
    ("github-token", "gh" + "s_123456_" + JWT),
    ("openai-key", "s" + "k-" + MIXED[:20] + "T3Blbk" + "FJ" + MIXED[:20]),
    ("openai-key", "sk-" + "svcacct-" + MIXED[:60]),
    ("sk-key", "sk-" + "or-v1-" + HEX[:64]),
    ("slack-token", "xap" + "p-1-A0123456789-1234567890123-" + HEX[:64]),
    ("private-key", base64.b64encode(b"-----BEGIN RSA PRIVATE " + b"KEY-----" + MIXED.encode()).decode()),
    ("private-key", base64.b64encode(b"-----BEGIN PRIVATE " + b"KEY-----" + MIXED.encode()).decode()),
    ("stripe-key", "rk_" + "live_" + MIXED[:24]),
    ("stripe-key", "sk_" + "test_" + MIXED[:24]),
    ("stripe-key", "wh" + "sec_" + MIXED[:32]),
]
ALL_TOKENS = sorted({*TOKENS.items(), *MORE_TOKENS})

PRIVATE_KEY = "-----BEGIN RSA PRIVATE " + "KEY-----\n" + BASE64_LINES + "\n-----END RSA PRIVATE " + "KEY-----"
PGP_KEY = (
    "-----BEGIN PGP PRIVATE " + "KEY BLOCK-----\nVersion: GnuPG v2\n\n" + BASE64_LINES + "\n-----END PGP PRIVATE "
    "KEY BLOCK-----"
)
ENCRYPTED_KEY = PRIVATE_KEY.replace("\n", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n", 1)

# kind, the text, the secret in it
IN_TEXT = [
    ("private-key", f"cat key\n{PRIVATE_KEY}\n$ ls", PRIVATE_KEY),
    ("private-key", f"x {PGP_KEY} y", PGP_KEY),
    ("private-key", ENCRYPTED_KEY, ENCRYPTED_KEY),
    ("private-key", PRIVATE_KEY.replace("RSA", "OPENSSH"), PRIVATE_KEY.replace("RSA", "OPENSSH")),
    ("private-key", '{"private_key": "' + PRIVATE_KEY.replace("\n", "\\n") + '\\n"}', PRIVATE_KEY.replace("\n", "\\n")),
    ("private-key", "head: " + PRIVATE_KEY[:120], PRIVATE_KEY[:120]),
    ("private-key", PRIVATE_KEY.replace("\n", "\n     2→"), PRIVATE_KEY.replace("\n", "\n     2→")),
    ("private-key", PRIVATE_KEY.replace("\n", "\n+"), PRIVATE_KEY.replace("\n", "\n+")),
    ("slack-webhook", "https://hooks.slack" + ".com/services/T0A1B2C3D/B0A1B2C3D/" + MIXED[:24],
     "T0A1B2C3D/B0A1B2C3D/" + MIXED[:24]),
    ("discord-webhook", "https://discord" + ".com/api/webhooks/123456789012345678/" + MIXED[:68], MIXED[:68]),
    ("authorization", f"curl -H 'Authorization: Bearer {HEX[:32]}' https://a.example", HEX[:32]),
    ("authorization", "curl -H \"Authorization: Basic dXNlcjpwYXNzd29yZA==\"", "dXNlcjpwYXNzd29yZA=="),
    ("authorization", f"Authorization: token {HEX[:40]}\r\nAccept: */*", HEX[:40]),
    ("authorization", f'{{"Authorization": "Bearer {MIXED[:40]}"}}', MIXED[:40]),
    ("authorization", f"headers = {{'authorization': 'Bearer {MIXED[:40]}'}}", MIXED[:40]),
    ("authorization", f'request.setHeader("Authorization", "Basic {MIXED[:20]}")', MIXED[:20]),
    ("authorization", f"> Proxy-Authorization: Bearer {MIXED[:40]}", MIXED[:40]),
    ("authorization", f"sent as Bearer {MIXED[:40]}, refused", MIXED[:40]),
    ("url-password", "psql postgres://app:S3cr" + "et!x@db.example:5432/shop", "S3cr" + "et!x"),
    ("url-password", "redis://:hunter2hunter2@localhost:6379/0", "hunter2hunter2"),
    ("url-password", "git clone https://me:p@ss#word1@git.example/x.git", "p@ss#word1"),
    ("url-password", "mongodb+srv://u:correcthorse@h1:27017,h2:27017/db", "correcthorse"),
    ("password", 'password="hunter2hunter2"', "hunter2hunter2"),
    ("password", "password = 'it\"s5ecret'", 'it"s5ecret'),
    ("password", "export DB_PASSWORD=hunter2 && make", "hunter2"),
    ("password", "PGPASSWORD=correcthorse psql", "correcthorse"),
    ("password", "mysql --password hunter22 -u root", "hunter22"),
    ("password", "mysql --password=hunter22 -u root", "hunter22"),
    ("password", 'password="AbCdxYzQrsTU"', "AbCdxYzQrsTU"),
    ("password", "spring.datasource.password=Tr0ub4dor", "Tr0ub4dor"),
    ("password", "SMTP_PASS=Summer2024", "Summer2024"),
    ("password", "passwd: Summer2024.", "Summer2024"),
    ("password", '{"user": "me", "password": "correcthorse"}', "correcthorse"),
    ("password", "'password' => 'p@ssword!',", "p@ssword!"),
    ("password", 'if password == b"hunter22":', "hunter22"),
    ("password", "**Password:** hunter22", "hunter22"),
    ("password", "Password: `hunter22`", "hunter22"),
    ("password", "password：hunter22，别忘了", "hunter22"),
    ("password", "数据库密码: hunter22", "hunter22"),
    ("password", "user=me;pwd=hunter22;", "hunter22"),
    ("password", 'const password = "a,b;c(d1)";', "a,b;c(d1)"),
    ("secret", f"client_secret={MIXED[:24]}&grant_type=x", MIXED[:24]),
    ("secret", f'clientSecret: "{MIXED[:24]}"', MIXED[:24]),
    ("secret", "JWT_SECRET=supersecretvalue", "supersecretvalue"),
    ("api-key", f"aws_secret_access_key = wJal/{MIXED[:35]}", f"wJal/{MIXED[:35]}"),
    ("api-key", f"AccountName=x;AccountKey={MIXED[:86]}==;EndpointSuffix=y", f"{MIXED[:86]}=="),
    ("api-key", f"X-Api-Key: {HEX[:32]}", HEX[:32]),
    ("api-key", f"api_key: {HEX[:32]}", HEX[:32]),
    ("api-key", f'{{"apiKey":"{HEX[:32]}"}}', HEX[:32]),
    ("api-key", f"tool --api-key {HEX[:32]}", HEX[:32]),
    ("token", f"//registry.npmjs.org/:_authToken={HEX[:32]}", HEX[:32]),
    ("token", f"https://a.example/?access_token={HEX[:32]}&x=1", HEX[:32]),
    ("token", "?access_token=AbCdxYzQrsTUvW&x=1", "AbCdxYzQrsTUvW"),
    ("token", f"refresh_token: '{MIXED[:30]}'", MIXED[:30]),
    ("token", "PRIVATE-TOKEN: " + MIXED[:20], MIXED[:20]),
]  # fmt: skip

CONTEXTS = {
    "alone": "{}",
    "shell": "FOO=1 run --with {} | tee log",
    "assignment": "export SOME_NAME={}\n",
    "json text": '{{"a": "{}", "b": 1}}',
    "escaped json": '{{\\"a\\": \\"{}\\"}}',
    "prose": "I found {} in the log.",
    "next line": "line\n{}\nline",
    "Chinese": "密钥是{}，请勿外传。",
    "url": "https://x.example/a/{}?b",
}

HARMLESS = [
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "commit 9f2c4b1d8e7a6f5c4d3e2b1a0f9e8d7c6b5a4f3e (HEAD -> main)",
    "session 01a8586e-714c-486c-a23a-eb497af64c77, toolu_01A09q90qw90lq917835lq9",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbImEuanMiXX0=",
    '"node_modules/js-tokens": {"version": "4.0.0", "resolved": "https://registry.npmjs.org/js-tokens/-/js-tokens-4.0.0.tgz", '
    '"integrity": "sha512-RdJUflcE3cUzKiMqQgsCu06FPu9UdIJO0beYbPhHN4k6apgJtifcoCtT9bcxOpYBtpD2kCM6Sbzg4CausW/PKQ=="}',
    "jsonwebtoken@^9.0.0:\n  version \"9.0.2\"\n  integrity sha512-PRp66vJ865SSqOlgqS8hujT5U4AOgMfhrwYIuIhfKaoSCZcirrmASQr8CX7cUg+RMih+hgznrjp99o+W4pJLHQ==",
    '"@types/jsonwebtoken": "^9.0.1",',
    '{file = "requests-2.31.0-py3-none-any.whl", hash = "sha256:58cd2187c01e70e6e26505bca751777aa9f2ee0b7f4300988b709f44e013003f"}',
    "h1:2C1H6Kk3xY8k0GrX5k7v1bG2mX1o3n5p7q9r1s3t5u7=",
    'var e=t(123),n=r.password,o={token:e.token,password:n,key:"a1b2c3d4e5"};i.secret=a.b1.c2;',
    "password = getpass()",
    "def login(user: str, password: str, api_key: str | None = None) -> Token:",
    'api_key=os.environ["X"], token=os.getenv("GITHUB_TOKEN")',
    "connect(password=password, token=token, api_key=settings.API_KEY, secret=self.secret2)",
    "password=user_password1",
    '"password": null, "token": 12345678, "secret": true',
    "token = tokens[1]",
    "token = tokens1234[1]",
    "secret: ${{ secrets.X }}",
    "PASSWORD=$PASSWORD\nTOKEN=${TOKEN}\nSECRET=$(pass show x1)\nAPI_KEY=%API_KEY%",
    'max_tokens=4096, "context_tokens":2846, "input_tokens": 120000000',
    "password: <password>, token=<token>, api_key: your-api-key-here, secret=xxxxxxxxxxxx, password=...",
    "password: '********'",
    'api_key="YOUR_API_KEY_123", token: "{{ token_v2 }}", password="{password}"',
    'placeholder="password" type="password" name="token"',
    '{"password": "string", "token": "string", "secret": "required", "passwd": "Passwort"}',
    '{"password": "Enter your password", "hint": "Password must have 8 characters"}',
    "'password' => 'required|string|min:8|confirmed',",
    "privateKey: Uint8Array, secret: Ed25519PrivateKey, token: uint256, password: Utf8String",
    'token: "keyword.operator.css3", secret: "db-credentials-v2", token: "us-east-1-primary"',
    "PWD=/home/dev/shop1\nOLDPWD=/tmp/x1y2z3\nprivate_key=/etc/ssl/private/key1.pem\nprivate_key: ~/.ssh/id_ed25519",
    "secret_key = secrets.token_hex(32)",
    "given by --username and --password options instead; ACCESS_KEY = 'AWSAccessKeyId'",
    "private_key: PKCS7PrivateKeyTypes, ('Binary Authorization', GetBinAuthzPolicyABCDEF(record))",
    "--password PASSWORD  the password to use\n--token-file tokens1.txt --password-stdin",
    "password policy: at least 12 characters; 密码：至少8个字符",
    "Authorization: Bearer ${TOKEN}",
    'headers["Authorization"] = f"Bearer {token1}"; "Authorization": "Bearer " + token',
    "Authorization: Bearer YOUR_API_KEY_12345, Authorization: Bearer <token>",
    "authorization: string; authorization = AuthorizationServiceImpl; authorization required for access",
    "uses Basic authentication, then Bearer authentication as described in rfc6750",
    "https://user:$PASS@host https://user:${PASS}@host https://user:<password>@host ftp://user:***@host http://u:xxx@h",
    "postgres://user:password@localhost/db",
    "https://example.com:8080/a/@scope/pkg http://localhost:3000?mail=a@b.example docker://alpine:3.18@sha256:abc",
    "http://localhost:3000，联系 a@b.example",
    "git@github.com:org/repo.git ssh://git@host.example:22/x me@example.com http://[::1]:8080/",
    "mscorlib, Version=4.0.0.0, PublicKeyToken=b77a5c561934e089",
    '"AWS::IAM::AccessKey": "0f3a9c7e51b2d8460f3a9c7e51b2d846"',
    "tls://user:%s@host", "f'{scheme}://{user}:{password}@{host}'",
    'if "-----BEGIN RSA PRIVATE ' + 'KEY-----" in text:\n    raise ValueError("AuthenticationProviderFactoryBean1234")',
    "-----BEGIN PUBLIC " + "KEY-----\n" + BASE64_LINES + "\n-----END PUBLIC " + "KEY-----",
    "-----BEGIN CERTIFICATE-----\n" + BASE64_LINES + "\n-----END CERTIFICATE-----",
    base64.b64encode(b"-----BEGIN CERTIFICATE-----" + MIXED.encode()).decode(),
    "npm_config_registry npm_package_dependencies_typescript_version hf_transformers_model_loading_utils",
    "task-notification-handler-for-the-background-process disk-usage-monitoring-service-v2",
    "ASIA-PACIFIC REGION MASK_ALL_THE_THINGS_12345678 xoxo",
    "ghp_" + "x" * 36 + " sk-ant-" + "your-api-key-goes-right-here AKIA" + "X" * 16,
]  # fmt: skip


@pytest.fixture
def rules(tmp_path):
    return Rules(str(tmp_path))


def cleaned(rules, value, ensure_ascii=False):
    """What the hook does: suspect by the raw bytes, parse them, clean."""
    data = json.dumps(value, ensure_ascii=ensure_ascii).encode()
    return rules.clean(json.loads(data), rules.suspects(data))


def kinds(text):
    return [kind for kind, _ in MARKER.findall(text)]


def test_a_token_goes_wherever_it_stands(rules):
    for kind, token in ALL_TOKENS:
        for context, ensure_ascii in itertools.product(CONTEXTS, (True, False)):
            before, after = CONTEXTS[context].format("\0").split("\0")
            value = cleaned(rules, {"tool_input": {"command": before + token + after}}, ensure_ascii)
            text = value["tool_input"]["command"]
            assert kinds(text) == [kind], (context, ensure_ascii)
            assert token not in text, (context, ensure_ascii)
            assert text.startswith(before) and text.endswith(after), (context, ensure_ascii)


def test_a_secret_goes_and_what_stands_around_it_stays(rules):
    for kind, text, secret in IN_TEXT:
        expected = text.replace(secret, f"[redacted:{kind}:{rules.fingerprint(secret)}]")
        for ensure_ascii in (True, False):
            value = cleaned(rules, {"prompt": text, "list": ["x", [text]]}, ensure_ascii)
            assert value == {"prompt": expected, "list": ["x", [expected]]}, ensure_ascii


def test_a_secret_goes_from_a_payload_that_is_no_json(rules):
    for kind, text, secret in IN_TEXT:
        raw = json.dumps({"a": text}, ensure_ascii=False)[:-1]
        clean = rules.clean_text(raw, rules.suspects(raw.encode()))
        assert kinds(clean) == [kind]
        assert json.dumps(secret, ensure_ascii=False)[1:-1] not in clean


def test_a_token_goes_from_a_payload_that_is_no_json(rules):
    for kind, token in ALL_TOKENS:
        for before in ("x ", "line\n", "\t", "中"):
            raw = json.dumps({"a": before + token})[:-1]
            assert kinds(rules.clean_text(raw, rules.suspects(raw.encode()))) == [kind], before


def test_what_is_no_secret_stays(rules):
    for text in HARMLESS:
        everything = BUILT_IN
        assert rules.clean({"content": text}, everything) == {"content": text}
        assert rules.clean_text(json.dumps(text), everything) == json.dumps(text)


def test_every_kind_of_before_is_still_known():
    assert {*TOKENS} <= {detector.kind for detector in BUILT_IN}


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("password", "hunter22", "password"),
        ("DB_PASSWORD", "correcthorse", "password"),
        ("password", "a\"b'c 1d", None),
        ("password", 'quote"inside1', "password"),
        ("apiKey", HEX[:32], "api-key"),
        ("client_secret", MIXED[:20], "secret"),
        ("access_token", MIXED[:20], "token"),
        ("Authorization", f"Bearer {MIXED[:30]}", "authorization"),
        ("authorization", "Basic dXNlcjpwYXNzd29yZA==", "authorization"),
        ("password", "string", None),
        ("token", "comma", None),
        ("tokens", "a1b2c3d4e5f6", None),
    ],
)
def test_an_entry_is_read_with_its_key(rules, key, value, kind):
    (entry,) = cleaned(rules, {"tool_input": {key: value}})["tool_input"].items()
    assert entry[0] == key
    assert kinds(entry[1]) == ([kind] if kind else [])
    assert (value in entry[1]) is (kind is None)


def test_keys_are_cleaned_and_keep_their_order(rules):
    first, second = TOKENS["github-token"], TOKENS["npm-token"]
    value = cleaned(rules, {"a": 1, first: 2, second: [3], "b": {first: 4}})
    assert list(value.values())[:3] == [1, 2, [3]]
    assert [kinds(key) for key in value] == [[], ["github-token"], ["npm-token"], []]
    assert list(value["b"]) == [list(value)[1]]


def test_keys_stay_apart_without_a_key_file(tmp_path):
    (tmp_path / "redact.key").mkdir()
    value = cleaned(Rules(str(tmp_path)), {TOKENS["github-token"]: 1, "gh" + "p_" + HEX[:36]: 2})
    assert list(value.values()) == [1, 2]


def test_an_event_without_secrets_is_returned_as_it_is(rules):
    value = {"a": ["b"]}
    assert rules.clean(value, ()) is value
    assert rules.clean_text("password=hunter22", ()) == "password=hunter22"


def test_any_depth_the_parser_allows(rules):
    value = "password=hunter22"
    for _ in range(50_000):
        value = [{"a": value}]
    value = rules.clean(value, rules.suspects(b"password=hunter22"))
    while isinstance(value, list):
        value = value[0]["a"]
    assert kinds(value) == ["password"]


def test_lone_surrogates(rules):
    value = cleaned(rules, {"a": "\ud800 password='\udfff' password='hunter22' \udc00"}, ensure_ascii=True)
    assert kinds(value["a"]) == ["password"]
    assert len(rules.fingerprint("\ud800")) == 10


def test_the_fingerprint_belongs_to_the_secret_and_to_the_machine(tmp_path):
    here, again, there = Rules(str(tmp_path / "a")), Rules(str(tmp_path / "a")), Rules(str(tmp_path / "b"))
    token = TOKENS["github-token"]
    texts = [cleaned(rules, [f"{token} and {token}"])[0] for rules in (here, again, there)]
    (one, two), (three, _), (four, _) = ([print_ for _, print_ in MARKER.findall(text)] for text in texts)
    assert one == two == three != four
    assert here.fingerprint("x") != here.fingerprint("y")


def test_the_key_is_private_and_kept(tmp_path):
    home = tmp_path / "new" / "home"
    first = Rules(str(home)).fingerprint("x")
    key = home / "redact.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert len(key.read_bytes()) == 32
    assert list(home.iterdir()) == [key]
    assert Rules(str(home)).fingerprint("x") == first


@pytest.mark.parametrize("trouble", ["symlink", "dangling symlink", "short", "empty", "folder", "pipe", "no folder"])
def test_without_a_sound_key_secrets_still_go(tmp_path, trouble):
    key, home = tmp_path / "redact.key", tmp_path
    (tmp_path / "elsewhere").write_bytes(b"k" * 32)
    match trouble:
        case "symlink":
            key.symlink_to(tmp_path / "elsewhere")
        case "dangling symlink":
            key.symlink_to(tmp_path / "nowhere")
        case "short":
            key.write_bytes(b"k" * 31)
        case "empty":
            key.touch()
        case "folder":
            key.mkdir()
        case "pipe":
            os.mkfifo(key)
        case "no folder":
            home = tmp_path / "elsewhere"
    assert cleaned(Rules(str(home)), "password='hunter22'") == "password='[redacted:password:nokey]'"
    assert not (tmp_path / "nowhere").exists()


def test_many_processes_make_one_key(tmp_path):
    home = tmp_path / "archive"
    code = (
        f"import sys, time; sys.path.insert(0, {str(ROOT)!r}); from sessionlog.redact.rules import Rules\n"
        f"time.sleep(max(0, {time.time() + 0.5} - time.time()))\n"
        f"print(Rules({str(home)!r}).fingerprint('x'))"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(8)]
    assert len({process.communicate()[0] for process in processes}) == 1
    assert [file.name for file in home.iterdir()] == ["redact.key"]


def with_config(home, config):
    (home / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    return Rules(str(home))


def test_allowed_values_stay(tmp_path):
    example = "AKIA" + "IOSFODNN7EXAMPLE"
    assert kinds(cleaned(Rules(str(tmp_path)), example)) == ["aws-access-key"]
    rules = with_config(tmp_path, {"redact": {"allow": [example, "hunter22"]}})
    assert rules.problem is None
    assert cleaned(rules, [example, "password=hunter22"]) == [example, "password=hunter22"]
    assert kinds(cleaned(rules, TOKENS["aws-access-key"])) == ["aws-access-key"]


@pytest.mark.parametrize("contains", [{}, {"contains": "ACME-"}, {"contains": ""}])
def test_own_patterns(tmp_path, contains):
    rules = with_config(
        tmp_path,
        {
            "redact": {
                "patterns": [
                    {"kind": "acme", "regex": "ACME-[0-9a-f]{32}", **contains},
                    {"kind": "pin", "regex": "PIN (?P<secret>[0-9]{4})", "contains": "PIN "},
                    {"kind": "quoted", "regex": 'id "(?P<secret>[0-9]+)"', "contains": 'id "'},
                    {"kind": "nothing", "regex": "q*", "contains": "z"},
                ]
            }
        },
    )
    assert rules.problem is None
    value = cleaned(rules, ["ACME-" + HEX[:32], "PIN 1234", 'id "77" lazy', TOKENS["npm-token"]])
    assert [kinds(text) for text in value] == [["acme"], ["pin"], ["quoted"], ["npm-token"]]
    assert value[1].startswith("PIN [redacted:pin:")


def test_redaction_can_be_switched_off(tmp_path):
    rules = with_config(tmp_path, {"redact": {"enabled": False}})
    assert rules.suspects(b"password=hunter22") == ()
    assert rules.problem is None


@pytest.mark.parametrize(
    ("config", "word"),
    [
        ("{", "JSON"),
        ("", "nothing"),
        ("[]", "redact"),
        ('{"redact": []}', "redact"),
        ('{"redact": {"enabled": "false"}}', "enabled"),
        ('{"redact": {"enabled": 0}}', "enabled"),
        ('{"redact": {"allow": "hunter22"}}', "allow"),
        ('{"redact": {"allow": [1]}}', "allow"),
        ('{"redact": {"patterns": {}}}', "patterns"),
        ('{"redact": {"patterns": ["x"]}}', "pattern"),
        ('{"redact": {"patterns": [{"kind": "x"}]}}', "regex"),
        ('{"redact": {"patterns": [{"kind": "x:]", "regex": "x"}]}}', "kind"),
        ('{"redact": {"patterns": [{"kind": "x", "regex": "("}]}}', "'x'"),
        ("[" * 100_000, "deep"),
    ],
)
def test_a_broken_config_neither_stops_nor_disarms(tmp_path, config, word):
    rules = with_config(tmp_path, config)
    assert kinds(cleaned(rules, "password=hunter22")) == ["password"]
    assert str(tmp_path / "config.json") in rules.problem
    assert word in rules.problem
    assert "\n" not in rules.problem


def test_a_mistake_costs_its_own_entry_only(tmp_path):
    patterns = [{"kind": "bad", "regex": "("}, 7, {"kind": "acme", "regex": "ACME-[0-9]+"}]
    rules = with_config(tmp_path, {"redact": {"patterns": patterns, "allow": ["hunter22", None]}})
    assert cleaned(rules, "password=hunter22") == "password=hunter22"
    assert kinds(cleaned(rules, "ACME-1234")) == ["acme"]


def test_a_config_that_cannot_be_read(tmp_path):
    (tmp_path / "config.json").mkdir()
    assert "config.json" in Rules(str(tmp_path)).problem
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.json").write_bytes(b"\xff")
    assert "config.json" in Rules(str(tmp_path / "other")).problem


ORDINARY = [
    *HARMLESS[:14],
    (ROOT / "sessionlog" / "fastlib.py").read_text(),
    "def login(user: str, password: str) -> None:\n    token = get_token(password)\n    api_key = os.environ['API_KEY']\n",
    "The password is wrong: the secret token expired. See https://docs.example.com:8443/a?b=c (bearer of news).",
    '"password": null, max_tokens=4096, "token_count": 12, key=lambda item: item.key, authorization is needed',
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_raises_no_suspicion(rules, text):
    assert [d.kind for d in rules.suspects(json.dumps({"context_tokens": 2846, "content": text}).encode())] == []


def test_every_beginning_is_sought(rules):
    """A token of which the cheap test does not know the beginning would never be found."""
    words, weak, letters = token_forms.heads()
    assert {name.encode() for name in words} == token_heads.WORDS
    assert {name.encode() for name in weak} == token_heads.WEAK_WORDS
    assert {name.encode() for name in letters} == token_heads.HEADS_4
    for sought, anchors in redact._SOUGHT:
        assert {anchor.translate(redact._ALIKE) for anchor in anchors} == {sought}


@pytest.mark.parametrize("config", [None, {"redact": {"allow": ["x"]}, "transcripts": {"raw": True}}])
def test_an_event_without_secrets_does_not_import_re(tmp_path, config):
    if config:
        with_config(tmp_path, config)
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from sessionlog.redact.rules import Rules\n"
        f"rules = Rules({str(tmp_path)!r})\n"
        "data = sys.stdin.buffer.read()\n"
        "suspects = rules.suspects(data); rules.clean({'a': 'b'}, suspects)\n"
        "print(*sorted({'re', 'os', 'json', 'typing', 'hashlib', '_blake2', 'functools'} & set(sys.modules)))"
    )
    data = json.dumps({"session_id": "01a8586e-714c-486c-a23a-eb497af64c77", "text": ORDINARY}).encode()
    run = subprocess.run([sys.executable, "-I", "-S", "-c", code], input=data, capture_output=True, check=True)
    assert run.stdout == (b"_blake2\n" if config else b"\n")  # of fastlib, which a hook imports anyway


SLOW = [
    "a:" * 500_000,
    "password=" * 100_000,
    "password " * 100_000,
    'password="' * 100_000,
    "--password " * 80_000,
    "password" + " " * 1_000_000,
    "eyJ" * 320_000,
    "-eyJ" * 240_000,
    "eyJaaaaaaaaa." * 80_000,
    "://" * 320_000,
    "://a:" * 200_000,
    "://a:b" + "@" * 1_000_000,
    "-----BEGIN PRIVATE " + "KEY-----" + " " * 1_000_000,
    ("-----BEGIN PRIVATE " + "KEY-----") * 36_000,
    ("-----BEGIN PRIVATE " + "KEY-----\n" + "A" * 64) * 10_000,
    "-----BEGIN " * 90_000,
    "sk-" * 320_000,
    "ghp_" * 240_000,
    "authorization: " * 66_000,
    "bearer " * 140_000,
    "token: " * 140_000,
    "\\" * 1_000_000,
    "password" + "\\" * 1_000_000,
    "-" * 1_000_000,
    "A" * 1_000_000,
    "1" * 1_000_000,
    "xoxb-" * 200_000,
    "1Q~" * 320_000,
    "[redacted:" * 100_000,
]


def test_no_text_takes_forever(tmp_path):
    """Texts made to be slow: in the time that a square would take, the process would be ended."""
    texts = SLOW if thorough() else [text[: len(text) // 32] for text in SLOW]
    assert_none_takes_forever(texts, tmp_path, seconds=60 if thorough() else 1.5)


SECRETS = [secret for _, secret in ALL_TOKENS] + [text for _, text, _ in IN_TEXT]
FRAGMENTS = st.one_of(
    st.sampled_from(SECRETS),
    st.sampled_from(
        ["password", "=", ":", '"', "'", "\\", "[redacted:", "]", "token", "://", "@", "hunter22", "\n", " "]
    ),
    st.text(max_size=8),
)
TEXTS = st.lists(FRAGMENTS, max_size=8).map("".join)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)


def same_shape(before, after):
    """Lists stay lists, texts texts; only a number that is a password becomes the marker of one."""
    if isinstance(before, (dict, list)):
        if type(before) is not type(after) or len(before) != len(after):
            return False
        pairs = zip(*[value.values() if isinstance(value, dict) else value for value in (before, after)], strict=True)
        return all(same_shape(*pair) for pair in pairs)
    return type(before) is type(after) or (type(before) is int and MARKER.fullmatch(after) is not None)


@given(value=VALUES)
def test_cleaning_twice_is_cleaning_once_and_keeps_the_shape(tmp_path_factory, value):
    rules = Rules(str(tmp_path_factory.getbasetemp()))
    before = json.loads(json.dumps(value))
    once = rules.clean(value, BUILT_IN)
    assert same_shape(before, once)
    copy = json.loads(json.dumps(once))
    assert rules.clean(once, BUILT_IN) == copy


@given(text=TEXTS, ensure_ascii=st.booleans())
def test_the_cheap_test_misses_nothing(tmp_path_factory, text, ensure_ascii):
    rules = Rules(str(tmp_path_factory.getbasetemp()))
    data = json.dumps({"a": text}, ensure_ascii=ensure_ascii).encode("utf-8", "surrogatepass")
    # One by one: where secrets are glued together, the marker of the first may uncover the second.
    finders = {detector for detector in BUILT_IN if rules.clean_text(text, (detector,)) != text}
    assert finders <= {*rules.suspects(data)}


def test_counts_of_tokens_are_no_names_of_secrets_and_tokens_beside_them_are(tmp_path: Path) -> None:
    rules = Rules(str(tmp_path))
    usage = b'{"usage":{"input_tokens":%d,"cache_read_input_tokens":1234567,"output_tokens":12}}'
    assert redact.sights(usage % 42) == [] and not rules.suspects(usage % 42)
    for secret in (b'"access_tokens":"%s"', b'"tokens":["%s"]', b'\\"api_token\\":\\"%s\\"'):
        line = usage % 42 + secret % MIXED[:40].encode()
        assert MIXED[:40] not in rules.clean_text(line.decode(), rules.suspects(line))
