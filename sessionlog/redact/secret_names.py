"""The names that secrets are given to, and those that only look like it. Imported only on suspicion.

A name is taken apart into its words: DB_PASSWORD_PROD, clientSecret and x-api-key are three, two and three. The last
telling word counts, and what stands around it may speak against it.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

# The kind, and how a telling word of it ends. A longer ending goes before a shorter one.
TELLING: "Final" = (
    (
        "password",
        "password passwords passwd passphrase passcode passwort kennwort passord passe passw pass pwd".split(),
    ),
    ("password", "pw senha contrasena wachtwoord heslo parola adgangskode zugangscode losenord sandi".split()),
    ("password", "clave psk".split()),
    ("token", "token tokens".split()),
    ("secret", "secret secrets".split()),
    ("api-key", "key keys".split()),
    ("credential", "credential credentials authorization auth".split()),
)
ENDINGS: "Final" = tuple((ending, kind) for kind, endings in TELLING for ending in endings)
# Words of which the ending is telling by chance.
CHANCE = frozenset(
    "bypass compass conclave donkey enclave encompass hockey monkey overpass surpass trespass turkey underpass".split()
)

# Whose password it is, before `pass` in one word.
OWNERS = frozenset(
    ["admin", "db", "ftp", "git", "ldap", "mail", "my", "mysql", "pg", "root", "sa", "smtp", "ssh", "user", "wifi"]
)

# What makes a key a secret one. Any other key, such as `acme_key`, needs a value that looks random.
SECRET_KEYS = frozenset(
    "access account admin api app application auth client consumer crypto decryption deploy encryption hmac "
    "integration jwt licence license master preshared private psk secret security server service session shared "
    "signing ssh storage subscription webhook".split()
)
# Keys and tokens that everybody may see.
OPEN = frozenset(
    "arrow cache change child column composite continuation cursor dedupe dict error event field file first foreign "
    "group hash hot i18n idempotency index input item json label last locale lookup map message natural next object "
    "output page parent partition path prev primary publishable public query react registry request row s3 search sort "
    "state sub translation unique".split()
)
# Words after the telling one that leave it a secret, and those that make it something else.
STILL_SECRET = frozenset(
    "admin api b64 backup base base64 bytes current database db default dev encoded hex live main master new "
    "old plain primary prod production raw root secondary secret staging str string test text user uat val "
    "value".split()
)
SOMETHING_ELSE = frozenset(
    "age alg algorithm arn at attempts audience class column confirmation count counter date decoder encoder "
    "endpoint env error errors expiration expires expiry factory field file filename form format generator "
    "handler hash header headers help hint host id ids index input issuer label len length lifetime limit "
    "manager max message method min name names parser path pattern placeholder policy port prefix provider "
    "regex required reset role rotation rule rules scope scopes service size status store strength suffix "
    "timeout title ttl type types uri url urls usage user username valid validation validator version".split()
)
# Types that stand between a name and its value.
TYPES = frozenset(
    "any as auto bytes char const final let nsstring object optional private protected public static str string "
    "text varchar var wchar_t".split()
)

# Words near a random value that tell what it is, and those that tell it is no secret.
NEAR = (
    "key token secret passw passphrase pwd auth credential access private bearer apikey cookie client_id sonar "
    "sessid sessionid session_id csrf xsrf totp one-time recovery login".split()
)
NOT_NEAR = (
    "sha1 sha-1 sha256 sha-256 sha384 sha512 md5 integrity checksum digest hash commit etag fingerprint public "
    "revision image uuid guid cid nonce version build font svg path src href import require test_id testid "
    "nexttoken next_token pagetoken page_token changetoken change_token continuationtoken continuation_token".split()
)
# Providers whose name alone says that a random value beside it is a key.
VENDORS = (
    "abstract adafruit adobe airbrake airtable airvisual algolia alibaba amplitude anthropic apify appcues "
    "asana atlassian auth0 autopilot axonaut azure bamboo beamer bitbucket bitly bittrex blazemeter braintree "
    "browserstack bugsnag buildkite calendarific calendly chargebee chatbot circleci clearbit clickup clockify "
    "cloudflare cloudinary codacy codecov coinapi coinbase confluent contentful coveralls databricks datadog "
    "deepgram deepseek digitalocean discord dropbox droneci dynatrace easypost elastic etsy eventbrite everhour "
    "facebook fastly figma finicity finnhub flickr flutterwave foursquare frameio freshbooks freshdesk "
    "fullstory gitlab gitter gocardless grafana gumroad harvest helpscout heroku honeycomb hubspot huggingface "
    "hunter infura instagram intercom ipinfo ipstack jfrog jira jotform jumpcloud kraken kucoin launchdarkly "
    "lessannoyingcrm linear linkedin linode lob logdna logzio mailchimp mailgun mailjet mapbox mapquest "
    "mattermost mavenlink messagebird mixpanel monday moonclerk netlify newrelic nexmo ngrok nytimes okta "
    "onelogin openai openweather opsgenie optimizely pagerduty papertrail paypal pinata pingdom pipedrive plaid "
    "planetscale plivo posthog postman postmark prospect pulumi pushbullet pushover rapidapi razorpay readme "
    "revai rollbar runscope salesforce scalingo segment sendbird sendgrid sendinblue sentry shodan shopify "
    "shortcut sidekiq signalwire slack smartsheet snyk sonarcloud sonarqube spotify square squareup stackhawk "
    "statuspage stripe sumologic surveymonkey teamwork telegram telnyx terraform tiingo todoist trello twilio "
    "twitch twitter typeform unsplash vercel virustotal vonage wakatime webex wistia wrike yandex zapier "
    "zendesk zenscrape zoho zoom".split()
)


class Name:
    """A telling name: its kind and telling word, what follows in the same word, and how much its value must prove."""

    __slots__ = ("is_other", "kind", "machine_made", "rest", "strict", "word")

    def __init__(self, kind: str, word: str, rest: str, strict: bool, machine_made: bool, is_other: bool) -> None:
        self.kind, self.word, self.rest = kind, word, rest
        self.strict, self.machine_made, self.is_other = strict, machine_made, is_other


_KNOWN: "dict[str, Name | None]" = {}  # the same few names come again and again


def read(ident: str) -> Name | None:
    """What a name tells; None if nothing. `is_other`: it is about a secret, as token_type and password_length are."""
    if ident not in _KNOWN:
        if len(_KNOWN) > 1000:
            _KNOWN.clear()
        _KNOWN[ident] = _read(ident)
    return _KNOWN[ident]


def _read(ident: str) -> Name | None:
    words = _words(ident)
    for place in range(len(words) - 1, -1, -1):
        start, word = words[place]
        low = word.lower().rstrip("0123456789")
        ending, kind = next(((ending, kind) for ending, kind in ENDINGS if low.endswith(ending)), ("", ""))
        if not ending or low in CHANCE:
            continue
        end = start + len(word)
        before = words[place - 1][1].lower() if place else ""
        stem = low[: -len(ending)] or before
        if kind in ("api-key", "token") and (
            before in OPEN or stem in OPEN or "public" in [other.lower() for _, other in words[:place]]
        ):
            return None
        if stem.startswith("pub") and kind == "api-key":
            return None
        if (
            ending in ("pass", "pw", "passe")
            and low != ending
            and stem not in OWNERS | {"motde"}
            and not word.isupper()
        ):
            strict = True
        else:
            strict = kind == "api-key" and not (stem in SECRET_KEYS or stem.endswith(("api", "secret", "access")))
            strict = strict or ending in ("keys", "tokens")
        after = [other.lower() for _, other in words[place + 1 :]]
        is_other = any(other in SOMETHING_ELSE for other in after)
        known = all(other in STILL_SECRET or other.isdigit() or len(other) < 2 for other in after)
        if after and not known:
            strict = strict or not ident.isupper() or ending in ("pass", "pw", "passe")
        name = word[len(word) - len(ending) :] if word[-1].isalpha() else word.rstrip("0123456789")[-len(ending) :]
        return Name(kind, name, ident[end:], strict, kind != "password", is_other)
    return None


def _words(ident: str) -> list[tuple[int, str]]:
    """The words of a name and where they begin: at a sign, and at a capital after a small letter."""
    found = []
    start = 0
    for place, letter in enumerate(ident):
        if letter in "_-.$ ":
            if place > start:
                found.append((start, ident[start:place]))
            start = place + 1
        elif letter.isupper() and place > start and not ident[place - 1].isupper():
            found.append((start, ident[start:place]))
            start = place
        elif letter.islower() and place - start > 1 and ident[start:place].isupper():
            # HTTPToken; but PRIVATEkey stays as it is: its ending tells enough
            found.append((start, ident[start : place - 1]))
            start = place - 1
    if start < len(ident):
        found.append((start, ident[start:]))
    return found
