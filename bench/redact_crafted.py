"""Inputs of one megabyte that were made to be slow."""

from __future__ import annotations

import random
import string

SIZE = 1_000_000
_LETTERS = string.ascii_letters + string.digits


def _never_twice(form: str, size: int) -> str:
    """Return a megabyte of a form with another number and another random value each time."""
    rng = random.Random(7)
    count = SIZE // (len(form) + size)
    return "".join(
        form.format(n=n, value="".join(rng.choices(_LETTERS, k=size))) for n in range(count)
    )


def _drawn(*pieces: str) -> str:
    """Return a megabyte of pieces drawn at random."""
    rng = random.Random(7)
    each = sum(map(len, pieces)) / len(pieces)
    return "".join(rng.choices(pieces, k=int(SIZE / each)))


CRAFTED: dict[str, str] = {
    "a. … =x": "a." * (SIZE // 2) + "=x",
    "a": "a" * SIZE,
    "hex": "0123456789abcdef" * (SIZE // 16),
    "key-": "key-" * (SIZE // 4),
    "sk-": "sk-" * (SIZE // 3),
    "digits with :": "12:34:56:" * (SIZE // 9),
    "digits": "4" * SIZE,
    "card numbers, wrong": "4111 1111 1111 1112 " * (SIZE // 20),
    "BEGIN without END": "-----BEGIN RSA PRIVATE KEY-----\n" * (SIZE // 32),
    "BEGIN, then base64": "-----BEGIN RSA PRIVATE KEY-----\n"
    + "QUJDREVGR0hJSktMTU5P\n" * (SIZE // 21),
    "END without BEGIN": "QUJDREVGR0hJSktMTU5P\n-----END RSA PRIVATE KEY-----\n" * (SIZE // 51),
    "DSN without @": "postgres://user:pass" * (SIZE // 20),
    "//:": "//:" * (SIZE // 3),
    "password=": "password=" * (SIZE // 9),
    'password="': 'password="' * (SIZE // 10),
    "token=' and \"": "token='token=\"" * (SIZE // 14),
    "authorization: ": "authorization: " * (SIZE // 15),
    "bearer ": "bearer a-" * (SIZE // 9),
    "eyJ": "-eyJ" * (SIZE // 4),
    "curl -u": "curl -u a " * (SIZE // 10),
    "cookie: a=": "cookie: a=b; " * (SIZE // 13),
    "@": "a@b." * (SIZE // 4),
    "+1 ": "+1 2" * (SIZE // 4),
    "backslashes": "\\" * SIZE,
    "\\u001b[": "\\u001b[0" * (SIZE // 8),
    "escapes": "\x1b[0m" * (SIZE // 4),
    "escapes alone": "\x1b" * SIZE,
    "literals with a code among them": ("re_" * 90 + "\x1b[0m") * (SIZE // 274),
    "zero width": "\u200b" * (SIZE // 3),
    "quotes": '"' * SIZE,
    "[redacted:": "[redacted:" * (SIZE // 10),
    "placeholders": "[redacted:key:0123]" * (SIZE // 19),
    "machine login": "machine a login b " * (SIZE // 18),
    "insert into": "insert into a(password," * (SIZE // 23),
    "name value": "name: PASSWORD value" * (SIZE // 20),
    "NUL": "\0" * SIZE,
    "lone surrogates": "\ud800" * (SIZE // 3),
    "_gitlab_session=": "_gitlab_session=" * (SIZE // 16),
    "token-xxxxx:": ("token-xxxxx:" + "b" * 51) * (SIZE // 63),
    "short lines": "EAAA\n" * (SIZE // 5),
    "cookie pairs": "Cookie: theme=dark; laravel_session=" * (SIZE // 36),
    "a connection string": "Server=h;Uid=a;Pwd=Reach!task" * (SIZE // 29),
    "tokens": "ghp_a8Bd3Fg7Hj2Kl5Mn9Pq4Rs6Tv1Wx3Yz8Cb2D " * (SIZE // 41),
    "lines of tokens": "token=Ab3dEf6hIj9lMn2pQr5t\n" * (SIZE // 27),
    "signatures": "?sig=mZ3kYf0qv1Q8sT4uW7xY9zA2bC4dE6fG8hJ0kL2mN4 " * (SIZE // 48),
    "telephones": "+14155550123," * (SIZE // 13),
    "e-mail": "jane.roe@mailhost.org " * (SIZE // 22),
    "export DB_PASSWORD=": "export DB_PASSWORD=" * (SIZE // 19),
    "flags on lines": "mytool \\\n  --client-secret \\\n  " * (SIZE // 34),
    "cookies": "< Set-Cookie: remember_token=QWQEN1hU6JR1JcsCnkvP; HttpOnly" * (SIZE // 60),
    "passwords on lines": "requirepass EwCEIiBYcK0VjTsCS\n" * (SIZE // 30),
    "speech of passwords": "the password is wrong" * (SIZE // 21),
    "heads of keys": "PuTTY-User-Key-File-3: ssh-ed25519\nComment: me\n" * (SIZE // 47),
    "keys of one long line": ("PuTTY-User-Key-File-3: ssh-rsa\\n" + "dareboost" * 60 + "? a. ")
    * (SIZE // 577),
    "tags without an end": "<zentrix_token>\n  00C6dT0ctPVnaawqrc" * (SIZE // 36),
    "END on lines": "-----END RSA PRIVATE KEY-----\n" * (SIZE // 30),
    "END on one line": "-----END RSA PRIVATE KEY-----" * (SIZE // 29),
    "blank lines before END": ("\n " * 15 + "\n-----END PRIVATE KEY-----") * (SIZE // 56),
    "lines of one character before END": (("A" * 64 + "\n") * 100 + "-----END PRIVATE KEY-----\n")
    * (SIZE // 6_526),
    "a long word before END": ("A" * 4_000 + ".\n-----END RSA PRIVATE KEY-----\n\n")
    * (SIZE // 4_034),
    "a list of tokens": "tokens = [mF9B5f41JqM8Zq2TxWab, " * (SIZE // 32),
    "a map of tokens": "token: {a: mF9B5f41JqM8Zq2TxWab, b: mF9B5f41JqM8Zq2TxWab, " * (SIZE // 58),
    "lists of nothing": "secrets:\n  - a\n" * (SIZE // 15),
    "alternatives": ("token = " + "a" * 40 + " or x ") * (SIZE // 54),
    "comments of keys": "'mF9B5f41JqM8Zq2TxWab' // api " * (SIZE // 30),
    "objects of keys": '{"kty": "EC", "d": "' * (SIZE // 20),
    "words in one object": '{"a": "' + "kty service_account " * (SIZE // 20),
    "words in objects": ('{"a": "' + "kty service_account " * 800 + '"}') * (SIZE // 16_000),
    "keys in objects": '{"kty": "EC", "d": "C6dT0ctPVnaawqrczLJWImKMG4h"}' * (SIZE // 50),
    "known prefixes": "npm_a8Bd3Fg7Hj_" * (SIZE // 15),
    "expected passwords": ('uri.password.should == "t' * 2 + ",v,//readonly:evidence@hos")
    * (SIZE // 74),
    "escaped passwords on lines": 'password=\\"abc\n' * (SIZE // 15),
    "escaped objects": '{\\"password\\": \\"abc\\", ' * (SIZE // 26),
    "rows of backslashes": ('password: \\"' + "\\" * 4_000 + "\n") * (SIZE // 4_013),
    "tags before quotes": '<password>"' * (SIZE // 11),
    "words of keys": "\n".join(f"zx_live_{n * 7919**3:024x}" for n in range(SIZE // 33)),
    "prefixes of keys": "zx_aB3dE6gH9jK2mN5pQ8sTuV1wX4yZ7aB0 " * (SIZE // 36),
    "the same secret again": 'token="aB3dE6gH9jK2mN5pQ8sT" aB3dE6gH9jK2mN5pQ8sT ' * (SIZE // 51),
    "users and passwords": 'user, password = "bob", "tiger"\n' * (SIZE // 32),
    "a JSON line of cards": "[" + ",".join(["4012888888881881"] * (SIZE // 17)) + "]",
    "tokens that never come twice": _never_twice("X{n}_TOKEN={value}\n", 12),
    "passwords that never come twice": _never_twice('"x{n}Password": "{value}",\n', 8),
    "long values that never come twice": _never_twice("X{n}_TOKEN={value}\n", 200),
    "names that never come twice": _never_twice("{value}_token: Ab3dEf6hIj9lMn2pQr5t\n", 40),
    "kinds of Secrets": "kind: Secret\n" * (SIZE // 13),
    "Secrets of YAML": "kind: Secret\nstringData:\n  a: b\n" * (SIZE // 32),
    "Secrets without an end": '{"data": {"a": "b"}, {"kind": "Secret", ' * (SIZE // 40),
    "base64 on one line": _drawn(*_LETTERS, "+", "/"),
    "base64url on one line": _drawn(*_LETTERS, "-", "_"),
    "letters on one line": _drawn(*_LETTERS),
    "hex with dashes": _drawn(*"0123456789abcdef-"),
    "letters with dots and @": _drawn(*_LETTERS, "-", ".", "@"),
    "letters with dots, @ and :": _drawn(*_LETTERS, "-", ".", "@", ":"),
    "letters with dots": _drawn(*_LETTERS, "-", "_", "."),
    "letters with =": _drawn(*_LETTERS, "="),
    "signs of URLs": _drawn(*_LETTERS, *"~._-+/="),
    "printable": _drawn(*map(chr, range(33, 127))),
    "names in names": _drawn("token", "a", "b"),
    "short names in names": _drawn("-pin-", "a", "bc"),
    "flags in flags": _drawn("--", "a", "b"),
    "bearers that never come twice": _never_twice("Authorization: Bearer {value}\n", 40),
}
