"""What a redactor hides, as a value."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct
from msgspec.structs import force_setattr

from holdfast.redaction.rule import Family, SecretRule

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
    rules: Collection[SecretRule] = ()
    """Rules of your own, which come before the built-in ones. Each needs anchors, and a pattern
    that RE2 can search in linear time; a redactor raises `InvalidSetting` for any other."""
    rules_files: Collection[str] = ()
    """TOML files with more of them, read when a redactor is made; docs/redaction.md has the
    format. A file that cannot be used raises `NotReadable` or `InvalidSetting`."""
    without: Collection[str] = frozenset()
    """Names of rules that do not run. Another rule may still find the same: `keep` leaves a kind
    alone whatever finds it. A redactor raises `UnknownName` for a name that does not exist."""

    def __post_init__(self) -> None:
        """Freeze the collections, so that policies can be compared; a text is one name."""
        force_setattr(self, "keep", frozenset(_names(self.keep)))
        force_setattr(self, "rules", tuple(self.rules))
        force_setattr(self, "rules_files", tuple(map(str, _names(self.rules_files))))
        force_setattr(self, "without", frozenset(_names(self.without)))

    def families_off(self) -> frozenset[Family]:
        """Return the families whose rules do not run."""
        off: set[Family] = set()
        if not self.personal:
            off.add("personal")
        if not self.mentions:
            off.add("mention")
        return frozenset(off)


def _names(given: Collection[str]) -> Collection[str]:
    return (given,) if isinstance(given, str) else given
