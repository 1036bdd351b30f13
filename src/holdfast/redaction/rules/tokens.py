"""Tokens that carry their own structure: JSON Web Tokens and encoded objects with secrets."""

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
)
