"""The kinds of secrets that there are: what stands in placeholders and reports."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from holdfast.errors import UnknownName
from holdfast.redaction.near import KIND
from holdfast.redaction.rules.registry import RULES
from holdfast.redaction.text import PRIVATE_KEY

FIELDS = ("password", "token", "api-key", "secret", "key")
"""What a field is called by its name; `names.py` says when."""
KINDS = frozenset((
    *(rule.kind for rule in RULES), *FIELDS, KIND, "aws-secret-key", "cookie", PRIVATE_KEY,
))  # fmt: skip
"""All that a policy may keep. A line that is hidden as a whole is none: nobody has read it."""


def check_kinds(wanted: Iterable[str]) -> None:
    """Raise `UnknownName` for a kind that does not exist; those that are spelt alike come first."""
    for kind in sorted(wanted, key=str):
        if kind not in KINDS:
            alike = get_close_matches(str(kind), sorted(KINDS), n=5)
            rest = sorted(KINDS.difference(alike))
            raise UnknownName("kind of secret", str(kind), (*alike, *rest))
