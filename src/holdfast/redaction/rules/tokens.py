"""Tokens that carry their own structure: JSON Web Tokens, PASETO, encoded keys and objects."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

_HEAD = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"
_BODY = "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"

RULES: tuple[Rule, ...] = (
    Rule(
        kind="account-key",
        family="key",
        anchors=(),
        pattern=r"[A-Za-z0-9+/]{86}==",
        pivot="==",
        gate="random",
        true=(
            (
                "Using key ",
                "JxwNhj9uM4crpd/3kUSNmpDCXIWbnYYPzDCiszZf0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3"
                "Q8Bq9Y==",
                " for request",
            ),
        ),
        false=("integrity sha512-" + "n/IvtYhE0+FavajU9ttcaLAN2c2XrEHMwSaO0ZYe" * 2 + "SQScQ1==",),
    ),
    Rule(
        kind="jwt",
        family="key",
        # `{"` in base64, and the same with blanks or a line end between the two
        anchors=("eyJ", "eyAi", "eyAg", "ewog", "ewoi", "ewoJ", "ewki", "ew0K"),
        open_end=True,
        in_pieces=True,
        # two dots where a part is empty: nothing is wrapped, or the content stands elsewhere
        pattern=r"e[yw][A-Za-z0-9_+/-]{6,}={0,2}"
        r"(?:(?:(?:\.{1,2}|%2[Ee])[A-Za-z0-9_+/-]{2,}={0,2}){1,4}(?:~[A-Za-z0-9_.-]*){0,20}"
        r"|:[A-Za-z0-9]{6}:[A-Za-z0-9_-]{27,86})?",
        gate="jwt",
        true=(
            (
                "token (truncated): ",
                "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiAiNzAzNTQ4MTk1Iiw",
                "...",
            ),
            ('"', "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ0ZXN0LXVzZXIifQ.", '";'),
            ("'", "eyJhbGciOiJSUzI1NiIsImtpZCI6InRlc3Qta2V5In0.e30.", "'"),
            ("cfg: ", "eyJ0b2tlbiI6ImhmX2VNREZhcXdqdmZQZmhJcnBjZ2pPVHdRb1d0TFNBY0hpeG0ifQ==", ""),
            (
                "x ",
                f"eyJhbGciOiJkaXIiLCJlbmMiOiJBMTI4R0NNIn0..48V1_ALb6US04U3b.{_BODY}.XFBoMYUZo",
                "",
            ),
            ("x ", f"eyJhbGciOiJIUzI1NiIsImI2NCI6ZmFsc2V9..{_BODY}", " y"),
            ("x ", f"ewogICJhbGciOiAiSFMyNTYiCn0.{_BODY}.{_BODY}", " y"),
            ("x ", f"eyAiYWxnIjogIkhTMjU2IiB9.{_BODY}.{_BODY}", " y"),
            # what signed sessions look like
            ("session=", f"eyJ1c2VyIjoxN30.ZxY1bA.{_BODY[:27]}", "; path=/"),
            ("sessionid=", f"eyJ1c2VyIjoxN30:1kLmN9:{_BODY[:27]}", ";"),
            # in pieces
            ('(\n    b"', _HEAD, '"\n    b"', f".{_BODY}", '"\n    b"', f".{_BODY}", '"\n)'),
            ('x = "', f"{_HEAD}.", '" +\n  "', f"{_BODY}.", '" +\n  "', _BODY, '";'),
            ("$x = '", f"{_HEAD}.", "'\n  . '", f"{_BODY}.", "'\n  . '", _BODY, "';"),
            ('"', _HEAD[:20], '" \\\n  "', f"{_HEAD[20:]}.{_BODY}", '" \\\n  "', f".{_BODY}", '"'),
            ('"', _HEAD, '" + "', ".", '" + "', _BODY, '" + "', ".", '" + "', _BODY, '"'),
            ('["', _HEAD, '", "', _BODY, '", "', _BODY, '"].join(".")'),
            ("     ", f"{_HEAD}.", "\n     ", f"{_BODY}.", "\n     ", _BODY, "\n\n   Next"),
            ("     ", _HEAD, "\n     .\n     ", _BODY, "\n     .\n     ", _BODY, "\n\n   Next"),
            (
                '"',
                f"{_HEAD}.",
                '"\n            + "',
                f"{_BODY}.",
                '"\n            + "',
                _BODY,
                '";',
            ),
            ('concat!("', _HEAD, '", "', ".", '", "', _BODY, '", "', ".", '", "', _BODY, '")'),
            ("`", f"{_HEAD}.", "\n", f"{_BODY}.", "\n", _BODY, "`"),
            ("'", _HEAD, "' || '", ".", "' || '", _BODY, "'"),
            ("'", "eyJhIjoxfQ.eyJiIjoyfQ.c2ln", "'"),
            ("// ", f"{_HEAD}.", "\n// ", f"{_BODY}.", "\n// ", _BODY, "\n// the rest\n"),
        ),
        false=("eyJhIjogMX0=", "eyJmb28iOiAiYmFyIiwgImJheiI6IDF9", "ewogICJhIjogMQp9"),
    ),
    Rule(
        kind="jwt",
        family="key",
        anchors=("_eyJhbGci", "_eyJ0eXAi", "_eyJraWQi", "e30."),
        inside_word=True,
        open_end=True,
        # after a prefix; with nothing in its header
        pattern=r"_?(?P<value>eyJ(?:hbGci|0eXAi|raWQi)[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]{2,}){1,4}"
        r"|e30=?\.(?:e30|ey[A-Za-z0-9_-]{4,})=?\.[A-Za-z0-9_-]{0,200})",
        gate="any",
        true=(
            ("tok_", f"{_HEAD}.{_BODY}.{_BODY}", " x"),
            ("'", "e30.e30.c2ln", "'"),
        ),
        false=("e30.5", "see e30.e31", "_eyJhbGci"),
    ),
    Rule(
        kind="jwt",
        family="key",
        anchors=("ZXlKaGJHY2lPaU", "ZXlKMGVYQWlPaU", "ZXlKcmFXUWlPaU"),
        open_end=True,
        pattern=r"ZXlK[A-Za-z0-9+/_-]{40,}={0,2}",  # encoded once more
        true=(("token: ", f"ZXlKaGJHY2lPaUpJVXpJMU5pSjku{_BODY}{_BODY}", "\n"),),
        false=("ZXlKaGJHY2lPaUpJ",),
    ),
    Rule(
        kind="session",
        family="key",
        anchors=(".eJ",),
        inside_word=True,
        # a session that was compressed, signed and given to the browser
        pattern=r"\.eJ[A-Za-z0-9_-]{16,}[.:][A-Za-z0-9_-]{5,8}[.:][A-Za-z0-9_-]{27,86}",
        gate="random",
        true=(("session=", f".eJ{_BODY}.ZxY1bA.{_BODY[:27]}", "; HttpOnly"),),
        false=("a.eJ.b", "x.eJournal_of_the_things.of.it"),
    ),
    Rule(
        kind="paseto",
        family="key",
        anchors=tuple(f"v{n}.{use}." for n in range(1, 5) for use in ("local", "public")),
        pattern=r"v[1-4]\.(?:local|public)\.[A-Za-z0-9_-]{32,}(?:\.[A-Za-z0-9_-]{4,})?",
        gate="random",
        true=(("token ", "v4.local.r68PS4AXe7If_ZgesdkUMvSwscFlAl1pk5HC0e8kApeaqMfGo", " ok"),),
        false=("v4.local.network", "chart v1.public.release-of-the-year"),
    ),
    Rule(
        kind="paserk",
        family="key",
        anchors=tuple(f"k{n}.{use}" for n in range(1, 5) for use in ("local", "secret", "seal.")),
        pattern=r"k[1-4]\.(?:local|secret|seal|(?:local|secret)-(?:wrap\.pie|pw))\."
        r"[A-Za-z0-9_-]{32,}",
        gate="random",
        true=(("key ", "k4.secret.r68PS4AXe7If_ZgesdkUMvSwscFlAl1pk5HC0e8kApea", " ok"),),
        false=("k4.public.r68PS4AXe7If_ZgesdkUMvSwscFlAl1pk5HC0e8kApea", "k1.local.zone"),
    ),
    Rule(
        kind="ntlm-response",
        family="key",
        anchors=("TlRMTVNTUAAD",),  # the third message, which answers the challenge
        pattern=r"TlRMTVNTUAAD[A-Za-z0-9+/]{24,}={0,2}",
        gate="real",
        true=(("NTLM ", "TlRMTVNTUAADAAAAGAAYAHIAAAAYABgAigAAABQAFABI", "\r\n"),),
        false=("NTLM TlRMTVNTUAABAAAAB4IIogAAAAAAAAAAAAAAAAAAAAAFASgKAAAADw==",),
    ),
    Rule(
        kind="private-key",
        family="key",
        anchors=("LS0tLS1CRUdJTi",),
        inside_word=True,
        open_end=True,
        pattern=r"LS0tLS1CRUdJTi[A-Za-z0-9+/_-]{40,}={0,2}",
        gate="encoded-key",
        true=(
            (
                "tls.key: ",
                "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlFb3dJQkFBS0NBUUVBN2JxMXpPNHg=",
                "\n",
            ),
        ),
        false=(
            "tls.crt: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUM1ekNDQWMrZ0F3SUJBZ0lCQURBTg==",
        ),
    ),
)
