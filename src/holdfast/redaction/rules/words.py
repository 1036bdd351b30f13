"""The words that make a field a secret one, as data."""

from __future__ import annotations

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
