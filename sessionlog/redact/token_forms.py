"""The forms of tokens that providers publish, one line for each. Imported only when the beginning of one is seen.

To add a kind, add a line: its name, how it may begin, what follows. Then run `python tools/generate.py`, which writes
token_heads.py for the cheap test of every event.
"""

from binascii import b2a_base64

from sessionlog.redact.detector import Detector
from sessionlog.redact.rules import SEPARATORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_UUID = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"

_BODY = r"[A-Za-z0-9+/]{16,}(?:[\s\\nr\"',+]{1,12}[A-Za-z0-9+/]{60,76})*=*"  # of base64, in lines

_START = r"(?:(?<![\w~-])|(?<=\\[nrt])|(?<=\\u\w{4}))"

# Nothing may be demanded after an open end such as {20,}: a form that fails only there would be tried again from every
# beginning, in time that grows with the square.
FORMS = (
    ("adafruit-key", "aio_", r"[A-Za-z0-9]{28}"),
    ("adobe-secret", "p8e- p8e_", r"[\w-]{32}"),
    ("age-key", "AGE-SECRET-KEY-1 AGE-SECRET-KEY-PQ-1", r"[A-Z0-9]{50,}"),
    ("airtable-token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    ("alibaba-key", "LTAI", r"[A-Za-z0-9]{12,26}"),
    ("anthropic-key", "sk-ant-", r"[\w-]{20,}"),
    ("apify-token", "apify_api_ apify_proxy_", r"[A-Za-z0-9]{20,}"),
    ("artifactory-token", "AKCp", r"[A-Za-z0-9]{60,}"),
    ("artifactory-token", "cmVmdGtu", r"[A-Za-z0-9+/]{40,}=*"),
    ("atlassian-token", "ATATT3 ATCTT3", r"[\w=-]{60,}"),
    ("atlassian-token", "ATBB", r"[A-Za-z0-9]{24,32}(?:=?[0-9A-F]{8})?"),
    (
        "authress-key",
        "sc_ ext_ scauth_ authress_",
        r"[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,}\.[\w+/=-]{30,}",
    ),
    ("aws-access-key", "AKIA ASIA ABIA ACCA", r"[A-Z0-9]{16}"),
    ("aws-access-key", "A3T", r"[A-Z0-9]{17}"),
    ("aws-appsync-key", "da2-", r"[a-z0-9]{26}"),
    ("aws-bedrock-key", "ABSKQmVkcm9ja bedrock-api-key-YmVkcm9ja", r"[\w+/-]{20,}=*"),
    ("aws-marketplace-token", "amzn.mws.", _UUID),
    ("azure-key", "AzureAD", r"[A-Za-z0-9+/]{40,}=*"),
    (
        "base64-token",
        "QUtJQ QVNJQ Z2hwX Z2hvX Z2h1X Z2hzX Z2l0aHViX3Bhd eG94Yi eG94cC c2stYW50L c2stcHJva c2tfbGl2ZV Z2xwYXQt bnBtX",
        r"[A-Za-z0-9+/_-]{16,}={0,2}",
    ),
    ("beamer-token", "b_", r"[a-z0-9=_-]{44}"),
    ("bitly-token", "R_", r"[0-9a-f]{32}"),
    ("brevo-key", "xkeysib- xsmtpsib-", r"[0-9a-f]{60,}(?:-[A-Za-z0-9]{12,16})?"),
    ("buildkite-token", "bkua_ bkat_ bkaj_ bkct_ bkpt_ bkpi_", r"[A-Za-z0-9]{40,64}"),
    ("canva-secret", "cnvca", r"[\w-]{40,}"),
    ("cerebras-key", "csk-", r"[a-z0-9]{40,}"),
    ("circleci-token", "CCIPAT_ CCIPRJ_", r"[A-Za-z0-9]{20,24}_[0-9a-f]{40}"),
    ("clickhouse-key", "4b1d", r"[A-Za-z0-9]{38}"),
    ("clojars-token", "CLOJARS_", r"[0-9a-z]{60}"),
    ("cloudflare-key", "v1.0-", r"[0-9a-f]{24,70}-[0-9a-f]{100,160}"),
    ("cloudinary-url", "cloudinary://", r"\d{10,}:(?P<secret>[\w-]{20,})"),
    ("contentful-token", "CFPAT-", r"[\w-]{40,}"),
    ("crates-token", "cio", r"[A-Za-z0-9]{32}"),
    ("databricks-token", "dapi", r"[0-9a-f]{32}(?:-\d)?"),
    ("datadog-token", "ddapp_ ddpat_ ddsat_", r"[A-Za-z0-9_]{20,}"),
    ("defined-networking-token", "dnkey-", r"[a-z0-9=_-]{26}-[a-z0-9=_-]{52}"),
    ("dependency-track-key", "odt_", r"[A-Za-z0-9]{32,}(?:_[A-Za-z0-9]{30,})?"),
    ("dfuse-key", "web_ mobile_ server_", r"[0-9a-f]{32}"),
    ("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"[0-9a-f]{64}"),
    ("discord-token", "MC MD MT Mj Mz ND NT Nj Nz OD OT", r"[\w-]{21,26}\.[\w-]{6}\.[\w-]{27,45}"),
    ("docker-token", "dckr_", r"[a-z]{3}_[\w-]{20,}"),
    ("doppler-token", "dp.pt. dp.ct. dp.st. dp.sa. dp.scim. dp.audit. dp.said.", r"(?:[\w-]{1,40}\.)?\w{40,44}"),
    ("dropbox-token", "sl.", r"[\w.-]{130,}"),
    ("duffel-token", "duffel_test_ duffel_live_", r"[\w=-]{40,}"),
    ("dynatrace-token", "dt0c01. dt0s01. dt0a01. dt0s16.", r"[A-Za-z0-9]{8,24}\.[A-Z0-9]{60,64}"),
    ("easypost-token", "EZAK EZTK", r"[A-Za-z0-9]{54}"),
    ("elastic-key", "essu_", r"[A-Za-z0-9+/]{30,}=*"),
    ("endor-key", "endr+", r"[A-Za-z0-9-]{16}"),
    ("facebook-token", "EAA", r"[A-Za-z][A-Za-z0-9]{50,}"),
    ("figma-token", "figd_ figdr_ figu_ figur_ figo_ figoh_ figor_", r"[\w-]{30,}"),
    ("fireworks-key", "fw_", r"[A-Za-z0-9]{22,24}"),
    ("flutterwave-key", "FLWSECK_TEST- FLWSECK- FLWPUBK_TEST- FLWPUBK-", r"[A-Za-z0-9]{12,32}(?:-X)?"),
    ("fly-token", "fo1_", r"[\w-]{43}"),
    ("fly-token", "fm1_ fm2_ fm1a_ fm1r_", r"[A-Za-z0-9+/]{60,}=*"),
    ("frameio-token", "fio-u-", r"[\w=-]{60,}"),
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"\w{36,}(?:\.[\w-]{20,})*"),
    ("gitlab-token", "glpat- gldt- glrt- glrtr- glptt- glcbt-", r"[\w.-]{20,}"),
    ("gitlab-token", "gloas- glsoat- glimt- glagent- glffct- glft-", r"[\w.-]{20,}"),
    ("gitlab-token", "GR1348941", r"[\w-]{20,}"),
    ("gocardless-token", "live_ sandbox_", r"[\w-]{40}"),
    ("google-key", "AIza", r"[\w-]{35}(?!-)"),
    ("google-oauth-secret", "GOCSPX-", r"[\w-]{24,}"),
    ("google-oauth-token", "ya29.", r"[\w.-]{20,}"),
    ("grafana-token", "glsa_ glc_", r"[\w+/]{32,}"),
    ("grafana-token", "eyJrIjoi", r"[A-Za-z0-9+/]{40,}=*"),
    ("groq-key", "gsk_", r"[A-Za-z0-9]{40,}"),
    ("harness-token", "pat. sat.", r"[\w-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}"),
    ("heroku-key", "HRKU-", r"(?:AA[\w-]{56,}|[0-9a-fA-F-]{36})"),
    ("hubspot-token", "pat-na1- pat-na2- pat-eu1- pat-ap1-", _UUID),
    ("huggingface-token", "hf_", r"[A-Za-z0-9]{30,}"),
    ("huggingface-token", "api_org_", r"[A-Za-z]{34}"),
    ("infracost-key", "ico-", r"[A-Za-z0-9]{32}"),
    ("intra42-secret", "s-s4t2ud- s-s4t2af-", r"[0-9a-f]{64}"),
    ("jina-key", "jina_", r"[\w-]{40,}"),
    ("lacework-key", "LACEWORK", r"[A-Z0-9]{20,}"),
    ("langchain-key", "lsv2_pt_ lsv2_sk_", r"[0-9a-f]{32}_[0-9a-f]{10}"),
    ("langchain-key", "ls__", r"[0-9a-f]{32}"),
    ("langfuse-key", "sk-lf- pk-lf-", _UUID),
    ("launchdarkly-key", "sdk- mob- api-", _UUID),
    ("linear-key", "lin_api_ lin_oauth_", r"[A-Za-z0-9]{32,}"),
    ("lob-key", "live_ test_ live_pub_ test_pub_", r"[0-9a-f]{31,35}"),
    ("mailgun-key", "key- pubkey-", r"[0-9a-f]{32}"),
    ("mailgun-key", "key- pubkey-", r"[0-9a-z]{32}"),
    ("mapbox-token", "sk.eyJ pk.eyJ tk.eyJ", r"[\w-]{40,}\.[\w-]{20,}"),
    ("mercadopago-token", "APP_USR-", r"\d{10,}-\d{6}-[0-9a-f]{32}-\d+"),
    ("mergify-key", "mka_", r"[\w-]{40,}"),
    ("monkeylearn-key", "ml_", r"[0-9a-f]{40}"),
    ("neon-key", "napi_", r"[a-z0-9]{40,}"),
    ("netlify-token", "nfp_ nfc_ nfo_ nfu_", r"[\w-]{36,}"),
    ("newrelic-key", "NRAK- NRAA- NRRA- NRII- NRAL- NRSP- NRBR- NRIQ-", r"[A-Za-z0-9_-]{20,}"),
    ("newrelic-key", "NRJS-", r"[0-9a-f]{19}"),
    ("ngrok-key", "ak_ cr_", r"[A-Za-z0-9]{27}"),
    ("notion-token", "ntn_", r"[A-Za-z0-9]{40,}"),
    ("notion-token", "secret_", r"[A-Za-z0-9]{43}"),
    ("npm-token", "npm_", r"[A-Za-z0-9]{36,}"),
    ("nuget-key", "oy2", r"[a-z0-9]{43}"),
    ("nvidia-key", "nvapi-", r"[\w-]{60,}"),
    ("octopus-key", "API-", r"[A-Z0-9]{25,32}"),
    ("1password-key", "A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    ("1password-key", "ops_eyJ", r"[\w+/-]{100,}=*"),
    ("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None-", r"[\w-]{20,}"),
    ("openai-key", "sk-", r"[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20,}"),
    ("openshift-token", "sha256~", r"[\w-]{43}"),
    ("packagist-token", "packagist_org_ packagist_ort_ packagist_out_ packagist_uut_", r"[\w-]{20,}"),
    ("pagarme-key", "ak_live_ ek_live_ ak_test_", r"[A-Za-z0-9]{25,40}"),
    ("patreon-token", "patreon_", r"[\w-]{30,}"),
    ("perplexity-key", "pplx-", r"[A-Za-z0-9]{40,}"),
    ("persona-key", "persona_production_ persona_sandbox_", r"[A-Za-z0-9-]{30,}"),
    ("pinecone-key", "pcsk_", r"[A-Za-z0-9_]{40,}"),
    ("plaid-token", "access-production- access-sandbox- access-development-", _UUID),
    ("planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_ pscale_otkn_", r"[\w.=-]{30,}"),
    ("polar-token", "polar_oat_ polar_pat_ polar_at_ polar_rt_ polar_whs_", r"[\w-]{20,}"),
    ("posthog-key", "phc_ phx_ phs_", r"[A-Za-z0-9]{36,}"),
    ("postman-key", "PMAK-", r"[0-9a-fA-F]{24}-[0-9a-fA-F]{30,36}"),
    ("postman-key", "PMAT-", r"[0-9A-Z]{26}"),
    ("prefect-key", "pnu_ pnb_", r"[A-Za-z0-9]{36}"),
    ("pubnub-key", "sub-c- pub-c-", _UUID),
    ("pubnub-key", "sec-c-", r"[A-Za-z0-9+/]{40,}=*"),
    ("pulumi-token", "pul-", r"[0-9a-f]{40}"),
    ("pypi-token", "pypi-AgE", r"[\w-]{50,}"),
    ("ramp-token", "ramp_sec_ ramp_tok_ ramp_id_", r"[A-Za-z0-9]{30,}"),
    ("razorpay-key", "rzp_live_ rzp_test_", r"[A-Za-z0-9]{14,}"),
    ("readme-key", "rdme_", r"[a-z0-9]{70}"),
    ("replicate-token", "r8_", r"[A-Za-z0-9]{36,}"),
    ("resend-key", "re_", r"[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"),
    ("retool-key", "retool_", r"[A-Za-z0-9]{26,}"),
    ("robinhood-key", "rh-api-", _UUID),
    ("rootly-key", "rootly_", r"[0-9a-f]{60,}"),
    ("rubygems-key", "rubygems_", r"[0-9a-f]{48}"),
    ("runpod-key", "rpa_", r"[A-Z0-9]{40,}[a-z0-9]{0,8}"),
    ("scalingo-token", "tk-us-", r"[\w-]{48}"),
    ("sendgrid-key", "SG.", r"[\w-]{16,32}\.[\w-]{16,64}"),
    ("sentry-token", "sntrys_ sntryu_", r"[\w+/=]{40,}"),
    ("settlemint-token", "sm_pat_ sm_aat_ sm_sat_", r"[A-Za-z0-9]{16,}"),
    ("shippo-token", "shippo_live_ shippo_test_", r"[0-9a-zA-Z]{40}"),
    ("shopify-token", "shpat_ shpca_ shppa_ shpss_ shprt_ prtapi_", r"[0-9a-fA-F]{32}"),
    ("sk-key", "sk-", r"(?:or-v\d-)?[A-Za-z0-9]{32,}"),  # DeepSeek, Moonshot, OpenRouter, Qwen and others
    ("slack-token", "xoxa- xoxb- xoxp- xoxr- xoxs- xoxo- xoxc- xoxd- xoxe-", r"[\w%-]{10,}"),
    ("slack-token", "xoxe.xoxp- xoxe.xoxb- xapp-", r"[\w%-]{10,}"),
    ("snyk-token", "snyk_uat. snyk_sat.", r"[0-9a-z]{8}\.[\w-]{20,}\.[\w-]{20,}"),
    ("sonar-token", "sqp_ sqa_ squ_", r"[A-Za-z0-9=_-]{40}"),
    ("sourcegraph-token", "sgp_", r"(?:(?:[0-9a-fA-F]{16}|local)_){0,2}[0-9a-fA-F]{40}"),
    ("sourcegraph-token", "slk_ sgs_ sgd_", r"[0-9a-f]{64}"),
    ("segment-token", "sgp_", r"[A-Za-z0-9]{64}"),
    ("spectral-token", "spu-", r"[a-z0-9]{32}"),
    ("square-token", "EAAA", r"[\w-]{56,62}"),
    ("square-token", "sq0atp- sq0csp- sq0idp-", r"[\w-]{22,43}"),
    ("statsig-key", "secret- client-", r"[A-Za-z0-9]{40,}"),
    (
        "stripe-key",
        "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ sk_org_ whsec_",
        r"[A-Za-z0-9+/_]{10,}",
    ),
    ("supabase-key", "sb_secret_", r"[\w-]{20,}"),
    ("supabase-key", "sbp_ sbp_v0_", r"[0-9a-z]{40}"),
    ("tailscale-key", "tskey-", r"[A-Za-z0-9-]{16,}"),
    ("tavily-key", "tvly- tvly-dev- tvly-prod-", r"[A-Za-z0-9]{20,}"),
    ("teamwork-token", "tkn.v1_", r"[\w+/-]{40,}=*"),
    ("tencent-key", "AKID", r"[A-Za-z0-9]{32,44}"),
    ("tines-token", "xtines", r"[\w-]{20,}"),
    ("trigger-key", "tr_dev_ tr_prod_ tr_pat_ tr_stg_", r"[A-Za-z0-9]{20,}"),
    ("twilio-key", "SK0 SK1 SK2 SK3 SK4 SK5 SK6 SK7 SK8 SK9 SKa SKb SKc SKd SKe SKf", r"[0-9a-f]{31}"),
    ("twitch-key", "live_", r"\d{6,10}_[A-Za-z0-9]{28,32}"),
    ("typeform-token", "tfp_", r"[\w.=-]{40,}"),
    ("unkey-key", "unkey_", r"[A-Za-z0-9]{20,}"),
    ("vault-token", "hvs. hvb. hvr.", r"[\w-]{24,}"),
    ("vault-token", "s. b. r.", r"[A-Za-z0-9]{24}"),
    ("vercel-token", "vcp_ vci_ vca_ vcr_ vck_", r"[A-Za-z0-9]{24,}"),
    ("vercel-token", "vercel_blob_rw_", r"[A-Za-z0-9_]{30,}"),
    ("voyage-key", "pa- al-", r"[\w-]{43}"),
    ("wakatime-key", "waka_ waka_sec_ waka_tok_", r"[A-Za-z0-9-]{36,}"),
    ("webflow-key", "wf_", r"[0-9a-f]{60,}"),
    ("weights-biases-key", "wandb_v1_", r"[A-Za-z0-9_]{40,}"),
    ("xai-key", "xai-", r"[A-Za-z0-9]{60,}"),
    ("yandex-key", "AQVN", r"[\w-]{35,38}"),
    ("yandex-key", "t1.", r"[\w-]{20,}={0,2}\.[\w-]{80,}"),
    ("yandex-key", "y0_ y1_ y2_ y3_", r"[\w-]{50,}"),
    ("zoho-token", "1000.", r"[0-9a-f]{32}\.[0-9a-f]{32}"),
    ("zuplo-key", "zpka_", r"[a-z0-9]{32}_[0-9a-f]{8}"),
    # Private keys without their first line: what DER begins with, in base64.
    ("private-key", "LS0tLS1CRUdJTiB", r"(?:SU0EgUF|QUklWQV|FQyBQUk|PUEVOU1|FTkNSWV|EU0EgUF)[A-Za-z0-9+/]{40,}=*"),
    ("private-key", "b3BlbnNzaC1rZXktdjE", _BODY),
    ("private-key", "MII", r"[A-Za-z0-9+/]{3}IB(?:AAKB|AAKC|ADANBgkq|ADCCA)" + _BODY),
    ("private-key", "MHcCAQEE MIGkAgEBB MC4CAQAwBQYDK2Vw MIGHAgEAMBMGByqG MIG2AgEAMBAGByqG", _BODY),
    # A JSON Web Token, signed or not, or encrypted. The boundary stands inside: without it "eyJeyJeyJ…" would be read
    # to its end from every eyJ.
    (
        "jwt",
        "eyJ",
        r"(?:(?<![\w-]eyJ)|(?<=\\[nrt]eyJ)|(?<=\\u\w{4}eyJ)|(?<=%[0-9A-F]{2}eyJ)|(?<=\dmeyJ))"
        r"[\w-]{8,}\.(?:[\w-]{10,})?\.[\w-]*(?:\.[\w-]+)*",
    ),
    ("jwt", "ZXlK", r"[A-Za-z0-9+/_-]{60,}={0,2}"),  # the same in base64
)

# What has its mark in the middle: the kind, the mark, the whole form.
INNER_FORMS = (
    ("azure-secret", "Q~", _START + r"[\w.~-]{3}\dQ~[\w.~-]{31,34}(?![\w~-])"),
    ("azure-devops-token", "AZDO", r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}"),
    ("azure-key", "JQQJ99", r"[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}"),
    ("azure-key", "AzSe", r"[A-Za-z0-9]{42}AzSe[A-Za-z0-9]{6}"),
    ("azure-key", "AzFu", r"[A-Za-z0-9_-]{44}AzFu[A-Za-z0-9_-]{6,}=*"),
    ("coinbase-key", "/apiKeys/", r"/apiKeys/(?P<secret>[0-9a-f-]{36})"),
    ("discord-webhook", "/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d+/(?P<secret>[\w-]{60,})"),
    ("mailchimp-key", "-us", r"[0-9a-f]{32}-us(?:[1-9]|1\d|2[0-4])(?!\w)"),
    ("maxmind-key", "_mmk", r"\w{6}_\w{29}_mmk"),
    ("slack-webhook", "hooks.slack.com/", r"hooks\.slack\.com/[a-z]+/(?P<secret>[\w/+-]{20,})"),
    (
        "teams-webhook",
        "office.com/webhook",
        r"office\.com/webhook(?:b2)?/(?P<secret>[\w@-]{30,}/IncomingWebhook/[\w/-]{20,})",
    ),
    ("telegram-token", ":A", r"\d{5,16}:A[\w-]{33,35}(?![\w-])"),
    ("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}"),
    ("tines-webhook", ".tines.com/webhook/", r"\.tines\.com/webhook/(?P<secret>[0-9a-f]{32}/[0-9a-f]{32})"),
    (
        "zapier-webhook",
        "hooks.zapier.com/",
        r"hooks\.zapier\.com/hooks/(?:catch|standard)/(?P<secret>\d{4,}/[a-z0-9]{5,})",
    ),
)

# Words that begin much else too: what follows them must look random.
_WEAK = frozenset(
    "1000 API R access ak al api b b3 client cr ext fw key live ls mob mobile ml organizations pa pat pub "
    "pubkey r re s sandbox sat sc sdk secret server sl sub t1 test tk v1 web wf".split()
)
# Words that are common, if not at the beginning of a token.
_COMMON = _WEAK | frozenset(
    [
        "bedrock",
        "github",
        "hooks",
        "office",
        "patreon",
        "persona",
        "polar",
        "ramp",
        "retool",
        "sha256",
        "slack",
        "vercel",
        "webhook",
    ]
)
_SIGNS = str.maketrans(SEPARATORS.decode(), " " * len(SEPARATORS))


def heads() -> "tuple[set[str], set[str], set[str]]":
    """For the cheap test: words that tokens begin with, those that begin much else too, and first four letters."""
    words, weak, letters = set(), set(), set()
    for _, beginnings, _ in FORMS:
        for beginning in beginnings.split():
            word = beginning.translate(_SIGNS).split()[0]
            if word in _COMMON:
                weak.add(word)
            elif word != beginning:
                words.add(word)
            elif len(word) > 3:  # a shorter one begins a random word, which is looked at in any case
                letters.add(word[:4])
    for _, mark, _ in INNER_FORMS:
        found = {word for word in mark.translate(_SIGNS).split() if len(word) > 4}
        words |= found - _COMMON
        weak |= found & _COMMON
    words |= {f"us{number}" for number in range(1, 25)}  # Mailchimp
    letters |= {b2a_base64(f'{{"{letter}'.encode()).decode()[:4] for letter in "abcdefghijklmnopqrstuvwxyz"}  # JWT
    return words, weak, letters


def suspected(runs: bytes) -> "list[Detector]":
    """The forms that may be in the runs."""
    return [detector for detector in DETECTORS if _may_hold(runs, detector)]


def _may_hold(runs: bytes, detector: Detector) -> bool:
    """Whether a beginning stands at the beginning of a word, and is not followed by words as in npm_config_registry."""
    for needle in detector.needles:
        at = runs.find(needle)
        while at >= 0:
            if detector.judge == "inner":
                return True
            rest = runs[at + len(needle) : at + len(needle) + 10].partition(b" ")[0]
            words = rest.islower() and rest.translate(None, SEPARATORS).isalpha()
            begins = len(rest) == 10 and not words and not runs[max(0, at - 1) : at].isalnum()
            if begins and _has_dot(runs, at, detector) and _is_long_enough(runs, at + len(needle), detector):
                return True
            at = runs.find(needle, at + 1)
    return False


def _has_dot(runs: bytes, start: int, detector: Detector) -> bool:
    return r"}\." not in detector.regex or b"." in runs[start : start + 4096].partition(b" ")[0]


def _is_long_enough(runs: bytes, start: int, detector: Detector) -> bool:
    """Whether the first part is as long as the form demands, and has digits, where the beginning is weak."""
    if detector.judge != "weak":
        return True
    shortest = int(detector.regex.partition("{")[2].partition("}")[0].partition(",")[0])
    part = runs[start : start + min(64, shortest)]
    if ")[0-9a-f]{" in detector.regex and part.strip(b"0123456789abcdef"):
        return False
    return len(part) >= min(64, shortest) and b" " not in part and any(digit in part for digit in b"0123456789")


def _detectors() -> "Iterable[Detector]":
    for kind, beginnings, rest in FORMS:
        found = sorted(beginnings.split(), key=len, reverse=True)
        either = "|".join(beginning.replace(".", r"\.").replace("+", r"\+") for beginning in found)
        end = r"(?!\w)" if rest.endswith("}") and not rest.endswith(",}") else ""
        weak = _WEAK.issuperset(" ".join(found).translate(_SIGNS).split())
        needles = tuple(beginning.encode() for beginning in found)
        regex = f"(?a)(?P<head>{either}){rest}{end}"
        yield Detector(kind, regex, needles, "weak" if weak else "token", "the form of a token", 2)
    for kind, mark, form in INNER_FORMS:
        yield Detector(kind, f"(?a){form}", (mark.encode(),), "inner", f"the form of a token, with {mark} in it", 2)


DETECTORS = tuple(_detectors())
