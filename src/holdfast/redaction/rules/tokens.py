"""Tokens that carry their own structure: JSON Web Tokens, PASETO, encoded keys and objects."""

from __future__ import annotations

from holdfast.redaction.rule import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        kind="account-key",
        family="key",
        anchors=(),
        pattern=r"[A-Za-z0-9+/]{86}==",
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
        anchors=("eyJ",),
        open_end=True,
        # where nothing is signed, the last part is empty
        pattern=r"eyJhbGciOiJub25l[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"
        r"|eyJ[A-Za-z0-9_+/-]{10,}={0,2}(?:\.[A-Za-z0-9_+/-]{2,}={0,2}){0,4}",
        gate="jwt",
        true=(
            (
                "token (truncated): ",
                "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiAiNzAzNTQ4MTk1Iiw",
                "...",
            ),
            ('"', "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ0ZXN0LXVzZXIifQ.", '";'),
            ("cfg: ", "eyJ0b2tlbiI6ImhmX2VNREZhcXdqdmZQZmhJcnBjZ2pPVHdRb1d0TFNBY0hpeG0ifQ==", ""),
        ),
        false=("eyJhIjogMX0=", "eyJmb28iOiAiYmFyIiwgImJheiI6IDF9"),
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
