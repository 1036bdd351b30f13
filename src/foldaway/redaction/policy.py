"""What a redactor hides, as values: a rule is one shape of a secret, a policy chooses rules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import force_setattr

from foldaway._core import SettingsStruct
from foldaway.errors import InvalidSetting

Family: TypeAlias = Literal[
    "vendor",
    "field",
    "header",
    "url",
    "connection",
    "command",
    "prose",
    "key",
    "personal",
    "mention",
    "own",
]
"""What a policy switches on and off as a whole; `own` is a rule of the user's."""

Gate: TypeAlias = Literal[
    "any",
    "real",
    "mixed",
    "random",
    "unnamed",
    "digest",
    "password",
    "bare",
    "chosen",
    "given",
    "userinfo",
    "header",
    "luhn",
    "card",
    "iban",
    "phone",
    "ssn",
    "email",
    "jwt",
    "encoded-key",
    "seed",
    "code",
    "ticket",
    "escaped",
    "basic",
    "marked",
    "prefixed",
]
"""What a value must be beyond its pattern; `gates.py` has the functions and what each means."""

STRUCTURES: Mapping[str, str] = {
    "field": "a value next to a name that says what it is, such as password=…",
    "cookie-header": "a value in a header of cookies",
    "key-block": "a private key, whole or cut off",
    "line": "a line or block on which too many tries failed, so that nobody has read it",
    "companion": "half of the credential next to it",
    "repeat": "a secret that was found nearby, here without its name",
}
"""What a finding names in place of a rule if its structure gave it away, and what that means."""


class SecretRule(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    r"""One shape of a secret: found by a literal, then one match at that place, then a gate.

    `pattern` is RE2 syntax (no lookaround, no backreference) over the UTF-8 bytes, one byte a
    character: write ASCII classes, and `[^\x00-\x7f]` for anything else. It is tried once at each
    anchor and reads at most 8 KB from there; RE2 counts no further than `{1000}`.
    """

    name: str
    """Lower case with hyphens, `github-token-pat`. No two rules have the same name."""
    kind: str = ""
    """What the placeholder says, `github-token`; without one, the name. Rules can share a kind."""
    family: Family = "own"
    anchors: tuple[str, ...] = ()
    """Literals; the pattern is tried at each of them. At least two characters, and rare in
    ordinary text: every occurrence costs a try. Without any, the pattern itself is looked for
    everywhere, together with the others of that sort: for shapes that have no literal."""
    pattern: str
    """Starts with the anchor. A group named `value` is what is hidden; without one, all of it."""
    gate: Gate = "real"
    ignore_case: bool = False
    """Whether anchors and pattern match in any case."""
    inside_word: bool = False
    """Whether a letter, digit or underscore may be directly before the match."""
    open_end: bool = False
    """Whether a letter or digit may be directly after the match; otherwise it does not match."""
    in_pieces: bool = False
    """Whether the value may go on in further strings or lines, as a JSON Web Token does."""
    before: int = 0
    """How many characters before the anchor the pattern may start, for shapes such as
    `123456:AA…` whose literal is not at the start; the match must reach over the anchor."""
    not_after: str = ""
    """A pattern. If it matches directly before the value, on the same line and at most 80
    characters away, the value stays: `order ` before a number, `Author: ` before an address."""
    needs: str = ""
    """For a rule without anchors: a character that every match has, such as `@`. In a text without
    it the pattern is not looked for."""
    pivot: str = ""
    """For a rule without anchors whose pattern counts along every word, which is slow: the literal
    after the characters that are counted, none of which it has. The rule is found by it."""
    collect_prefixes: bool = False
    """Whether the anchors are the prefixes of the vendors' rules that a policy has left."""
    not_prefixes: tuple[str, ...] = ()
    """For such a rule: prefixes that other names start with too."""
    any_vendor: bool = False
    """Whether it finds tokens of any vendor; it is off if the tokens of one vendor are kept."""
    file: str = ""
    """Where the rule is written."""

    def __post_init__(self) -> None:
        """Name the kind of a rule that has none of its own."""
        if not self.kind:
            force_setattr(self, "kind", self.name)


DEFAULT_KEY = "foldaway"
"""The key of `foldaway.redact(text)`. It is public, so its tags are short: they tell two secrets
of a text apart and are too few to confirm a guess."""


class RedactionPolicy(SettingsStruct, frozen=True, kw_only=True):
    """All settings of a redactor; the same policy always gives the same bytes."""

    key: str = DEFAULT_KEY
    """Makes the tags; "" is the default key. Another key gives other tags, so that placeholders of
    two stores cannot be compared; take it from the store or the run's manifest, never from the
    process."""
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
        if not isinstance(cast("object", self.key), str):
            raise _refuse("key", self.key, "a text")
        force_setattr(self, "key", self.key or DEFAULT_KEY)
        for name in ("personal", "mentions", "code"):
            if not isinstance(value := getattr(self, name), bool):
                raise _refuse(name, value, "True or False")
        rules = _listed(self.rules)
        if rules is None or not all(isinstance(one, SecretRule) for one in rules):
            raise _refuse("rules", self.rules, "a list of SecretRule values")
        force_setattr(self, "rules", rules)
        force_setattr(self, "keep", frozenset(_names("keep", self.keep)))
        force_setattr(self, "rules_files", _names("rules_files", self.rules_files))
        force_setattr(self, "without", frozenset(_names("without", self.without)))

    def families_off(self) -> frozenset[Family]:
        """Return the families whose rules do not run."""
        off: set[Family] = set()
        if not self.personal:
            off.add("personal")
        if not self.mentions:
            off.add("mention")
        return frozenset(off)


def _names(field: str, given: object) -> tuple[str, ...]:
    found = (given,) if _is_name(given) else _listed(given)
    if found is None or not all(map(_is_name, found)):
        raise _refuse(field, given, "a list of texts")
    return tuple(map(str, found))


def _is_name(given: object) -> bool:
    """Return whether this is a text or a path."""
    return isinstance(given, str) or hasattr(given, "__fspath__")


def _listed(given: object) -> tuple[object, ...] | None:
    """Return the elements of a collection or an iterator, None for anything else."""
    if isinstance(given, (str, bytes, bytearray, memoryview, Mapping)):
        return None
    return tuple(cast("Iterable[object]", given)) if isinstance(given, Iterable) else None


def _refuse(field: str, given: object, wanted: str) -> InvalidSetting:
    name, kind = f"redaction.{field}", type(given).__name__
    what = f"{name} is of type {kind}; it must be {wanted}"
    return InvalidSetting(name, given, wanted, message=what)
