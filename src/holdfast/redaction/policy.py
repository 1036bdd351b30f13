"""What a redactor hides, as a value."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct
from msgspec.structs import force_setattr

from holdfast.redaction.rule import Family

DEFAULT_KEY = "holdfast"
"""The key of `holdfast.redact(text)`. It is public, so its tags are short: they tell two secrets
of a text apart and are too few to confirm a guess."""


class RedactionPolicy(Struct, frozen=True, kw_only=True):
    """All settings of a redactor; the same policy always gives the same bytes."""

    key: str = DEFAULT_KEY
    """Makes the tags. Another key gives other tags, so that placeholders of two stores cannot be
    compared; take it from the store or the run's manifest, never from the process."""
    personal: bool = True
    """Whether telephone, social security, card and account numbers and e-mail are hidden."""
    mentions: bool = False
    """Whether mentions of people on platforms are hidden."""
    code: bool = False
    """Source-code mode: assignments without quotes stay. Everything else is still hidden."""
    keep: Collection[str] = frozenset()
    """Kinds that are left alone, for instance `{"email"}`; a redactor raises `UnknownName` for one
    that does not exist."""

    def __post_init__(self) -> None:
        """Freeze the kinds, so that policies can be compared; one alone is a set of one."""
        kinds = (self.keep,) if isinstance(self.keep, str) else self.keep
        force_setattr(self, "keep", frozenset(kinds))

    def families_off(self) -> frozenset[Family]:
        """Return the families whose rules do not run."""
        off: set[Family] = set()
        if not self.personal:
            off.add("personal")
        if not self.mentions:
            off.add("mention")
        return frozenset(off)
