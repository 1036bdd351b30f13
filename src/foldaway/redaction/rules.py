"""The rules as files: read, checked, and chosen for a policy; and the kinds of secrets they name.

The built-in rules are `rules/*.toml`, in the order of `FILES`; if two find the same, the earlier
one names it. Reading TOML takes 44 ms (`tomllib`), so a process reads `rules/compiled.json.zst`,
made by `make rules`, in 2 ms; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec
import zstandard
from msgspec.structs import replace

from foldaway._core import Regex
from foldaway.errors import InvalidSetting, NotReadable, UnknownName
from foldaway.redaction.matching import Pattern, re2
from foldaway.redaction.near import KIND
from foldaway.redaction.policy import STRUCTURES, SecretRule
from foldaway.redaction.text import LINE, PRIVATE_KEY

FILES = ("vendors", "services", "keys", "network", "commands", "passwords", "personal")
_FOLDER = __file__.removesuffix(".py")
"""Next to this file: `importlib.resources` would take 9 ms to import."""
_COMPILED = f"{_FOLDER}/compiled.json.zst"

_RULES = msgspec.json.Decoder(tuple[SecretRule, ...])


@cache
def built_in_rules() -> tuple[SecretRule, ...]:
    """Return the rules that come with the package, in the order in which they win."""
    with open(_COMPILED, "rb") as file:
        return _RULES.decode(zstandard.decompress(file.read()))


def compile_rules() -> bytes:
    """Return what the compiled file must hold: the rules of the TOML files, one a line."""
    rules = [
        replace(rule, file=f"{name}.toml")
        for name in FILES
        for rule in read_rules(f"{_FOLDER}/{name}.toml")
    ]
    return b"[\n" + b",\n".join(map(msgspec.json.encode, rules)) + b"\n]\n"


def write_compiled() -> None:
    """Write the compiled file after a change of the TOML files: `make rules`."""
    with open(_COMPILED, "wb") as file:
        file.write(zstandard.compress(compile_rules(), 19))


def parse_rules(text: str, file: str) -> tuple[SecretRule, ...]:
    """Return the rules of a TOML file, or raise `NotReadable` with the rule and what to do.

    A file has tables `[[rule]]`. It may have `[defaults]` for the fields of all of them, and
    `[fragments]`: pieces of patterns, which a pattern names as `{piece}`.
    """
    import tomllib  # only a file of rules needs it

    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotReadable(f"is not TOML: {error}", where=file, remedy="correct it") from None
    try:
        held = msgspec.convert(tables, _RulesFile)
    except msgspec.ValidationError as error:
        raise NotReadable(str(error), where=file, remedy=_SHAPE) from None
    if not held.rule:
        raise NotReadable("has no rules", where=file, remedy=_SHAPE)
    fragments = {name: _join(piece) for name, piece in held.fragments.items()}
    return tuple(_parse_rule({**held.defaults, **row}, fragments, file) for row in held.rule)


class _RulesFile(msgspec.Struct, forbid_unknown_fields=True):
    rule: list[dict[str, Any]] = []
    defaults: dict[str, Any] = {}
    fragments: dict[str, str | list[str]] = {}


_SHAPE = "a file of rules has tables [[rule]], and perhaps [defaults] and [fragments]"


def _parse_rule(row: Mapping[str, Any], fragments: Mapping[str, str], file: str) -> SecretRule:
    where = f"{file}: rule {row.get('name', '')!r}"
    try:
        rule = msgspec.convert(
            {**row, "file": file, "pattern": _join(row.get("pattern", ""))}, SecretRule
        )
    except msgspec.ValidationError as error:
        fields = ", ".join(field for field in SecretRule.__struct_fields__ if field != "file")
        raise NotReadable(str(error), where=where, remedy=f"the fields are {fields}") from None
    pattern = rule.pattern
    for _ in range(_DEPTH):
        if len(pattern) < _LONGEST:
            pattern = _FRAGMENT.sub(lambda used: fragments.get(used[1], used[0]), pattern)
    if unknown := set(_FRAGMENT.findall(pattern)) - {_ANY}:
        remedy = r"define it in [fragments], or write \{ for a brace"
        raise NotReadable(f"has no fragment {unknown.pop()!r}", where=where, remedy=remedy)
    return replace(
        rule, pattern=pattern if rule.collect_prefixes else _with_anchors(pattern, rule.anchors)
    )


def _join(pattern: str | list[str]) -> str:
    """Return a pattern that is written in several strings as one."""
    return pattern if isinstance(pattern, str) else "".join(pattern)


_ANY = "anchors"
"""The fragment that is any of the rule's own anchors."""
_FRAGMENT = Regex(r"(?<!\\)\{([a-z][a-z0-9_]*)\}")
_DEPTH = 8
"""Fragments may use fragments; the rules of this package do so three deep."""
_LONGEST = 1 << 16
"""Characters of a pattern at which no more fragments are put in; the longest rule has 11,000."""


def _with_anchors(pattern: str, anchors: Sequence[str]) -> str:
    return pattern.replace(f"{{{_ANY}}}", f"(?:{'|'.join(map(_escape, anchors))})")


def _escape(literal: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", literal)


_SPECIAL = Regex(r"[.^$*+?()\[\]{}|\\]")


def read_rules(file: str) -> tuple[SecretRule, ...]:
    """Return the rules of a user's file, not checked yet, or raise `NotReadable`."""
    try:
        with open(file, encoding="utf-8") as opened:
            text = opened.read()
    except FileNotFoundError:
        raise NotReadable("does not exist", where=file, remedy="check the name") from None
    except UnicodeDecodeError:
        raise NotReadable("is not UTF-8", where=file, remedy="save it as UTF-8") from None
    except OSError as error:
        raise NotReadable(f"cannot be read ({error.strerror})", where=file) from None
    return parse_rules(text, file)


def check_own(rules: Sequence[SecretRule]) -> None:
    """Raise an error that names the rule and the remedy if one of a user's own cannot be used."""
    names = {*STRUCTURES, *(rule.name for rule in built_in_rules())} if rules else set[str]()
    for rule in rules:
        if rule.name in names:
            raise _unusable(rule, "name", rule.name, "a name that no other rule has")
        names.add(rule.name)
        _check_own(rule)


def _check_own(rule: SecretRule) -> None:
    for field, value in (("name", rule.name), ("kind", rule.kind)):
        if not _NAME.fullmatch(value) or value in (LINE, PRIVATE_KEY):
            raise _unusable(rule, field, value, _NAMES)
    for field in ("needs", "pivot", "collect_prefixes", "not_prefixes", "any_vendor"):
        if value := getattr(rule, field):
            raise _unusable(rule, field, value, "left out: only built-in rules have it")
    if not rule.anchors:
        raise _unusable(rule, "anchors", [], "one literal or more that the pattern starts with")
    for anchor in rule.anchors:
        if len(anchor) < _SHORTEST or not anchor.isascii():
            raise _unusable(rule, "anchors", anchor, _LITERALS)
    if not 0 <= rule.before <= _MOST_BEFORE:
        raise _unusable(rule, "before", rule.before, f"0 to {_MOST_BEFORE}")
    for field, pattern in (("pattern", rule.pattern), ("not_after", rule.not_after)):
        _check_pattern(rule, field, pattern)


_NAME = Regex(r"[a-z][a-z0-9-]{0,63}")
_NAMES = "lower case letters, digits and hyphens, such as acme-key"
_SHORTEST = 2
"""One character would be tried in nearly every word."""
_LITERALS = f"ASCII literals of {_SHORTEST} characters or more"
_MOST_BEFORE = 512
"""More than any built-in rule looks back (420); a try costs twice as many bytes."""


def _check_pattern(rule: SecretRule, field: str, pattern: str) -> None:
    """Refuse what RE2 cannot search in linear time, and what would hide nothing."""
    try:
        is_empty = Pattern(pattern).at(b"", 0) is not None
    except (re2.error, UnicodeEncodeError) as error:
        wanted = f"RE2 syntax, without lookaround and backreferences ({_reason(error)})"
        raise _unusable(rule, field, pattern, wanted) from None
    if field == "pattern" and is_empty:
        raise _unusable(rule, field, pattern, "a pattern that does not match the empty text")


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeEncodeError):
        return r"write anything but ASCII as bytes, \xc3\xa9"
    reason = error.args[0] if error.args else error
    return reason.decode("ascii", "replace") if isinstance(reason, bytes) else str(reason)


def _unusable(rule: SecretRule, field: str, value: object, wanted: str) -> InvalidSetting:
    place = f"{rule.file}: rule {rule.name!r}" if rule.file else f"rule {rule.name!r}"
    return InvalidSetting(f"{place}: {field}", value, wanted)


def check_names(wanted: Collection[str], rules: Sequence[SecretRule]) -> None:
    """Raise `UnknownName` for the name of a rule that does not exist; similar ones come first."""
    check_known("rule", wanted, {rule.name for rule in rules} if wanted else ())


def check_known(what: str, wanted: Collection[str], known: Collection[str]) -> None:
    """Raise `UnknownName` for a name that is not among the known; similar ones come first."""
    for name in sorted(set(wanted).difference(known), key=str):
        from difflib import get_close_matches

        near = get_close_matches(str(name), sorted(known), n=5)
        found = (*near, *sorted(set(known).difference(near)))
        raise UnknownName(what, str(name), found)


def select_rules(
    rules: Sequence[SecretRule], *, keep: Collection[str] = (), without: Collection[str] = ()
) -> list[SecretRule]:
    """Return the rules without those of these kinds and names.

    A kind that is kept is kept by its prefix too: if the tokens of a vendor are kept, those of
    vendors without a rule are not looked for. Rules that collect prefixes take those of the rest.
    """
    left = [rule for rule in rules if rule.kind not in keep and rule.name not in without]
    if keep and any(rule.family == "vendor" and rule.kind in keep for rule in rules):
        left = [rule for rule in left if not rule.any_vendor]
    return [_with_prefixes(rule, left) if rule.collect_prefixes else rule for rule in left]


def _with_prefixes(rule: SecretRule, rules: Sequence[SecretRule]) -> SecretRule:
    prefixes = sorted(
        {
            anchor
            for other in rules
            if other.family == "vendor" and not other.before and not other.ignore_case
            for anchor in other.anchors
            if _PREFIX.fullmatch(anchor) and anchor[:-1].lower() not in rule.not_prefixes
        }
    )
    return replace(rule, anchors=tuple(prefixes), pattern=_with_anchors(rule.pattern, prefixes))


_PREFIX = Regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{2,}[_-]")


# Kinds: what placeholders and reports say


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
