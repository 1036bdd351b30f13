"""What the name of a field means: how surely it holds a secret, and of which kind.

The words come first: those that make a field a secret one, and those that labels are made of.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Literal, TypeAlias

from msgspec import Struct

from holdfast.regex import Regex

SECRET_WORDS = (
    "password", "passwd", "passwort", "passphrase", "passcode", "pwd", "secret", "token", "apikey",
    "credential", "privatekey", "accesskey", "secretkey", "authkey", "signingkey", "encryptionkey",
    "accountkey", "storagekey", "masterkey", "sharedkey", "licensekey", "servicekey", "sessionkey",
    "hmackey", "webhookkey", "clientkey", "appkey", "adminkey", "deploykey", "wpakey",
    "subscriptionkey", "consumerkey", "requirepass", "masterauth", "secrete", "sendpass",
    "recvpass",
    "adminpass", "userpass", "dbpass", "rootpass", "smtppass", "mailpass", "ftppass", "loginpass",
    "keypass", "storepass", "bindpass", "authpass", "wifipass", "mysqlpass", "operpass", "bindpw",
    "sshpass", "rootpw", "userpw", "adminpw", "dbpw", "storepw",
)  # fmt: skip
"""A field whose last word is or ends in one of these holds a secret."""

SHORT_WORDS = ("pass", "pw", "psw", "pswd", "creds", "pin", "psk")
"""The same, where they are words of their own: `bypass` is none."""

KEY_WORDS = frozenset((
    "api", "access", "secret", "private", "auth", "signing", "encryption", "storage", "account",
    "master", "shared", "license", "service", "session", "client", "app", "application",
    "admin", "user", "subscription", "project", "write", "read", "insert", "ingest",
    "integration", "server", "site", "webhook", "hmac", "jwt", "aes", "crypto", "cipher",
    "deploy", "ssh", "host", "rsa", "ec", "publish", "decryption", "consumer", "root", "sas",
    "token", "preshared", "merchant", "partner", "developer", "wep", "wpa",
))  # fmt: skip
"""Before `key` these make it a secret one: `api_key`, `signing-key`."""

OPEN_KEY_WORDS = frozenset((
    "public", "publishable", "pub", "primary", "foreign", "partition", "sort", "cache", "row",
    "idempotency", "dedup", "dedupe", "lookup", "group", "index", "unique", "composite",
    "translation", "message", "routing", "shard", "bucket", "object", "query", "hash", "map",
    "dict", "registry", "shortcut", "experiment", "asset", "delete", "layer", "theme",
))  # fmt: skip
"""Before `key` these make it an open one: a half that may be known, or a key of a table."""

THING_WORDS = frozenset((
    "item", "node", "parent", "child", "element", "record", "entity", "react", "file", "image",
    "blob", "doc", "document", "task", "job", "event", "step", "tab", "menu", "state", "data",
    "field", "column", "entry", "list", "tree", "page", "product", "order", "the", "this", "that",
    "by", "per", "with", "on", "value", "sorted", "new", "old", "temp", "tmp", "last", "first",
))  # fmt: skip
"""Before `key` these make it the name of a thing, which a UUID often is."""

WEAK_WORDS = (
    "key", "auth", "sig", "signature", "session", "sessionid", "sid", "jwt", "salt",
    "bearer", "otp", "seed", "mnemonic", "creds", "credentials", "license", "access", "login",
)  # fmt: skip
"""A field that ends in one of these holds a secret only where its value looks random."""

WEAK_LAST_WORDS = ("pat", "sk", "api", "sign", "hmac")
"""The same, where they are words of their own: `path` is none."""

ID_WORDS = frozenset((
    "secret", "role", "key", "client", "app", "application", "consumer", "sid", "token",
))  # fmt: skip
"""Before `id` these make it half of a credential, where it looks random."""

SUFFIXES = frozenset((
    "value", "val", "string", "str", "text", "plain", "raw", "b", "base64", "b64", "prod",
    "production", "dev", "test", "staging", "live", "new", "old", "current", "default", "env",
    "primary", "secondary", "backup", "main", "base", "v", "v1", "v2", "v3", "bytes", "secure",
    "confirm", "confirmation", "again", "repeat",
))  # fmt: skip
"""Last words that say nothing: `password_value`, `token_v2`."""

HARMLESS_ENDS = frozenset((
    "name", "names", "path", "file", "filename", "dir", "url", "uri", "endpoint", "type",
    "types", "kind", "count", "counts", "length", "len", "size", "limit", "max", "min",
    "enabled", "disabled", "required", "valid", "expiry", "expires", "expiration", "exp", "ttl",
    "age", "timeout", "policy", "algorithm", "algo", "alg", "method", "field", "fields",
    "label", "placeholder", "prompt", "hint", "error", "errors", "message", "msg", "status",
    "state", "format", "pattern", "regex", "rule", "rules", "manager", "provider", "service",
    "class", "id", "ids", "index", "idx", "version", "issuer", "scope", "scopes", "usage",
    "used", "cost", "price", "budget", "per", "estimate", "estimator", "counter", "rate",
    "ratio", "total", "sum", "diff", "hash_algorithm", "help", "description", "desc", "title",
    "at", "time", "date", "by", "mount", "ref", "arn", "store", "storage", "source", "mode",
    "strategy", "handler", "func", "fn", "callback", "input", "output", "column", "table",
    "prefix", "suffix", "header", "accessor", "fingerprint", "thumbprint", "checksum", "alias",
    "characters", "chars", "charset", "alphabet", "letters",
))  # fmt: skip
"""Last words of fields that speak about a secret and do not hold one: `token_count`."""

HEADERS = (
    "x-honeycomb-team", "x-jfrog-art-api", "x-shopify-access", "x-figma", "x-plex",
    "x-amz-security",
    "x-ms-token", "x-appwrite", "x-parse", "x-algolia", "xi-api", "x-hasura-admin", "x-csrf",
    "x-xsrf", "x-auth", "x-api", "x-functions", "x-goog", "x-rapidapi", "x-newrelic",
)  # fmt: skip
"""Headers that hold a secret whatever their last word is."""

DIGEST_WORDS = frozenset((
    "sha", "sha1", "sha256", "sha512", "md", "md5", "hash", "digest", "checksum", "etag", "commit",
    "uuid", "guid", "rev", "revision", "fingerprint", "thumbprint", "integrity", "nonce", "iv",
))  # fmt: skip
"""Last words of entries beside a secret that are random and no secret."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LABEL_WORDS = _words(
    """
    password passwords passwd passphrase passcode pass pwd pw psw pin secret secrets token tokens
    key keys api apikey access auth authorization authentication authenticated bearer client cred
    creds credential credentials user users username name names login logout signin signup value
    values val string strings str text input output prompt param params parameter field fields
    config configuration setting settings environ environment env variable var result response
    request default defaults required require requires optional option options invalid incorrect
    missing expired expire expires expiry valid validate validation validator null none nil
    undefined undef object array list dict map number numeric integer int float double boolean bool
    bytes byte char varchar nvarchar unicode buffer bytearray blob uuid any void never unknown hash
    hashed hashing hasher crypt bcrypt argon scrypt pbkdf encrypted encrypt encryption plain
    plaintext clear cleartext hidden hide show visible mask masked redact redacted filtered sample
    example fake dummy demo mock stub test tests testing foo bar baz qux quux foobar xxx abc enter
    type typed your my our his their the an some this that these new old current existing
    previous next confirm confirmed confirmation again repeat retype reset change changed changeme
    update updated forgot forgotten lost generate generated random manual auto automatic vault file
    filename path dir url uri http https empty blank exist exists enabled disabled enable disable
    wrong correct bad good match matches matching mismatch need needs needed found not is was are be
    been has have must should will can cannot no yes off too short long weak strong medium fair min
    max minimum maximum length size least most than characters chars character letter letters digit
    digits special symbol symbols uppercase lowercase allow allowed deny denied reject rejected
    error errors fail failed failure success ok false true sha1 sha256 sha512 md5 base64 utf8 aes
    rsa arg args data db database server service app application session id temp temporary header
    headers query body json form label title message msg hint help description desc and or of for to
    in on with as from at by store manager provider helper grant oauth oauth2 jwt basic digest
    signature sign encoded encoder encode decode private public shared account email mail phone code
    otp mfa totp policy rule rules backend module class method function attr attribute property
    column table row schema model view page button link icon placeholder symbol operator identifier
    keyword literal comment scope scopes callback redirect realm guard utf ascii latin
    scheme header prefix format bearertoken
    end start begin eof set unset get put only self all already used
    please protection support based only less protected prompts manager managers database databases
    stdin stdout keychain keyring interactive interactively rotation recovery managed
    """
)
"""A value that consists of these alone, with joints and a small number, says nothing itself."""

SECRET_LABELS = _words(
    """
    password passwords passwd passphrase passcode pass pwd pw psw pin secret secrets token tokens
    key keys auth authentication cred creds credential credentials user username login reset
    """
)
"""Those that speak of a secret wherever they stand: `current-db-password`."""

MESSAGE_WORDS = _words(
    """
    must required requires require enter please invalid incorrect wrong your cannot should least
    characters confirm forgot forgotten reset match matches empty missing optional needed password
    passwords password's passphrase field value default user users username when where which
    whether used using error failed click
    """
)
"""Any of these among several words makes them a message or a label."""

FOREIGN_WORDS = (
    r"passwor[td]|kennwort|mot de passe|contrase|senha|wachtwoord|l\xc3\xb6senord|adgangskode"
    r"|salasana|has\xc5\x82o|parola|parol\xc4\x83|heslo|jelsz|lozinka|geslo|slapta|\xc5\x9fifre|contrasenya"
    r"|passord|parool|palavra|clave|m\xe1\xba\xadt kh\xe1\xba\xa9u|kata sandi|sandi"
)
"""The word for a password in other languages of Latin letters, as bytes of UTF-8."""

HASH_WORDS = _words("hash hashed hasher encrypted")
"""What a call does with a password that it is given."""

NAME_SAYS_MORE = _words(
    """
    error errors err label labels message messages msg placeholder placeholders text texts i18n
    translation translations locale help hint hints title titles validator validators validation
    rule rules type types schema field fields column columns icon strength policy reset forgot
    forgotten change show hide toggle invalid missing wrong bad no has is require requires required
    hash hashed hasher encrypted
    """
)
"""Beside the secret word these make a name that of a text about it: `errors.password`."""

READING_VERBS = _words(
    """
    get read ask prompt input find load fetch delete remove has forgot reset request display label
    show hide toggle is need require clear lookup retrieve query select render open parse no
    invalid missing bad wrong unknown expect generate random print log warn error raise fail
    enter confirm include contain contains filter mask scrub redact
    """
)
"""What starts the name of a call whose argument is no password: `get_password("section")`."""

Strength: TypeAlias = Literal["strong", "weak", "none"]
"""Strong: any real value is a secret. Weak: only one that looks random."""
Sort: TypeAlias = Literal["password", "secret", "token", ""]
"""What a person may have chosen as the value of a field; empty if the name only speaks about one.
"""


_ASIDE = Regex(
    r"\s(?:for|of|in|on|is|was|has|set|reset|changed|generated|string|str|std::string)\b"
    r"|\s\(|\s{2}|:"
)
_SPLIT = Regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


class NameCheck(Struct, frozen=True):
    """A check of a name: the first one of `NAME_CHECKS` that applies decides."""

    label: str
    strength: Strength
    applies: Callable[[tuple[str, ...], str], bool]
    """Takes the words of the name, and the name in lower case."""


NAME_CHECKS = (
    NameCheck("header", "strong", lambda _, name: name.startswith(HEADERS)),
    NameCheck("no words", "none", lambda words, _: not words),
    NameCheck("id of a credential", "weak", lambda words, _: _is_credential_id(words)),
    NameCheck("harmless end", "none", lambda words, _: words[-1] in HARMLESS_ENDS),
    NameCheck("public key", "none", lambda words, _: any(map(_is_public_key, words, words[1:]))),
    NameCheck("secret word at the end", "strong", lambda words, _: _ends_in_secret(words)),
    NameCheck("some auth", "strong", lambda words, _: words[-1] == "auth" and len(words) > 1),
    NameCheck("secret key", "strong", lambda words, _: _is_key_word(words, "key")),
    NameCheck("any key", "weak", lambda words, _: words[-1] == "key"),
    NameCheck("weak word at the end", "weak", lambda words, _: words[-1] in _WEAK_ENDS),
    NameCheck("secret keys", "weak", lambda words, _: _is_key_word(words, "keys")),
    NameCheck("secret word", "weak", lambda words, _: any(map(_is_secret_word, words))),
    NameCheck("secret words", "weak", lambda words, _: words[-1].endswith(_SECRET_PLURALS)),
    NameCheck("any other name", "none", lambda words, _: True),
)


def _is_credential_id(words: tuple[str, ...]) -> bool:
    is_id = words[-1] == "id" and len(words) > 1 and words[-2] in ID_WORDS
    return is_id and words[-3:-1] != ("private", "key")


def _is_public_key(word: str, following: str) -> bool:
    return word in OPEN_KEY_WORDS and following == "key"


def _ends_in_secret(words: tuple[str, ...]) -> bool:
    joined = "".join(words[-2:])
    return (
        words[-1].endswith(SECRET_WORDS)
        or joined.endswith(SECRET_WORDS)
        or words[-1] in SHORT_WORDS
    )


def _is_key_word(words: tuple[str, ...], last: str) -> bool:
    """Whether a name ends in `last` after a word that says which key: `aes_key`."""
    return words[-1] == last and len(words) > 1 and words[-2] in KEY_WORDS


def _is_secret_word(word: str) -> bool:
    return word.endswith(SECRET_WORDS) or word in ("pass", "pw", "psw", "pswd")


_WEAK_ENDS = frozenset((*WEAK_WORDS, *WEAK_LAST_WORDS))
_SECRET_PLURALS = tuple(f"{word}s" for word in SECRET_WORDS)


def check_name(name: str) -> NameCheck:
    """Return the check that decides how surely a field of this name holds a secret."""
    lowered, words = name.lower(), words_of(name)
    return next(check for check in NAME_CHECKS if check.applies(words, lowered))


@lru_cache(maxsize=4096)
def strength_of(name: str) -> Strength:
    """Return how surely a field of this name holds a secret."""
    return check_name(name).strength


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case, without the numbers and suffixes at its end."""
    words = [word.lower() for word in _SPLIT.findall(_ASIDE.split(name)[0])]
    # password_for_email, token_of_bob
    end = next((at for at, word in enumerate(words) if at and word in ("for", "of")), len(words))
    words = words[:end]
    while len(words) > 1 and (words[-1].isdigit() or words[-1] in SUFFIXES):
        words.pop()
    return tuple(words)


def is_secret_entry(name: str) -> bool:
    """Whether an entry of a map of secrets may hold one: `prod`, and not `id` or `sha256`."""
    words = [word.lower() for word in _SPLIT.findall(name)]
    while len(words) > 1 and words[-1].isdigit():
        words.pop()
    return bool(words) and words[-1] not in HARMLESS_ENDS and words[-1] not in DIGEST_WORDS


@lru_cache(maxsize=4096)
def is_key_of(name: str) -> bool:
    """Whether a weak name is that of the key of a service: `zentrixKey`, and not `nodeKey`."""
    words = [word.lower() for word in _SPLIT.findall(name)]
    return len(words) > 1 and words[-1] == "key" and words[-2] not in THING_WORDS


@lru_cache(maxsize=4096)
def is_pin(name: str) -> bool:
    """Whether a field of this name holds a few digits."""
    return name[-3:].lower() == "pin" and _PIN.search(name) is not None


_PIN = Regex(r"(?i)(?:^|[^a-z])pin$|[a-z]Pin$")


@lru_cache(maxsize=4096)
def kind_of(name: str) -> str:
    """Return what the placeholder calls a field of this name."""
    lowered = name.lower()
    for word, kind in _KINDS:
        if word in lowered:
            return kind
    return "secret"


_KINDS = (
    ("pass", "password"), ("pwd", "password"), ("psw", "password"), ("pw", "password"),
    ("token", "token"), ("jwt", "token"), ("bearer", "token"), ("auth", "token"),
    ("api", "api-key"), ("secret", "secret"), ("key", "key"),
)  # fmt: skip
"""The first of these words that a name contains decides."""


@lru_cache(maxsize=4096)
def sort_of_name(name: str, *, called: bool = False) -> Sort:
    """Return what a person may have chosen for a field of this name, or passed to a call of it."""
    words = words_of(name)
    kind = kind_of(name)
    if called:
        words = tuple([word for word in words if word not in HASH_WORDS])
    if not words or not NAME_SAYS_MORE.isdisjoint(words):
        return ""
    if words[-2:] == ("api", "key") or words[-1].endswith("apikey"):
        return "token"
    if words[-1] == "secret":
        return "secret"
    if kind == "token" or words[-1].startswith("token"):
        return "token" if len(words) > 1 and (words[-2] in ACCESS_WORDS or name.isupper()) else ""
    if kind == "password" or words[-1] == "psk":
        return "password"
    return "secret" if "secret" in words[-3:] else ""


ACCESS_WORDS = frozenset(
    [
        "access",
        "auth",
        "api",
        "bearer",
        "refresh",
        "session",
        "csrf",
        "xsrf",
        "user",
        "bot",
        "admin",
        "oauth",
        "app",
    ]
)
"""Words before `token` that say what it opens."""
