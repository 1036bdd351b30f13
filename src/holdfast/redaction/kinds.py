"""The kinds of secrets that there are: what placeholders and reports say."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from holdfast.redaction.near import KIND
from holdfast.redaction.rule import SecretRule
from holdfast.redaction.rules import check_known
from holdfast.redaction.text import PRIVATE_KEY

FIELDS = ("password", "token", "api-key", "secret", "key")
"""What a field is called by its name; `names.py` says when."""
COOKIE = "cookie"
COMPANIONS = (KIND, "aws-secret-key")
"""What is found next to a secret that it belongs to."""


def kinds_of(rules: Sequence[SecretRule]) -> frozenset[str]:
    """Return all that a policy may keep: the kinds of rules, and what is found by its structure.

    A line that is hidden as a whole is not among them: nobody has read it.
    """
    return frozenset((*(rule.kind for rule in rules), *FIELDS, *COMPANIONS, COOKIE, PRIVATE_KEY))


def check_kinds(wanted: Collection[str], rules: Sequence[SecretRule]) -> None:
    """Raise `UnknownName` for a kind that does not exist; similar ones come first."""
    check_known("kind of secret", wanted, kinds_of(rules) if wanted else ())
