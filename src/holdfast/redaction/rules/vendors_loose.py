"""A known prefix before something random: vendors change the length and the letters of a token."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from holdfast.redaction.rule import Rule
from holdfast.redaction.rules.vendor_form import alnum, url_safe

KIND = "vendor-token"


def without(rules: Sequence[Rule], kinds: Collection[str]) -> list[Rule]:
    """Return the rules of other kinds; what is left alone by its kind is so by its prefix too."""
    left = [rule for rule in rules if rule.kind not in kinds]
    if len(left) == len(rules):
        return left
    known = [rule for rule in left if rule.kind != KIND]
    return [one for rule in left for one in (loose(known) if rule.kind == KIND else (rule,))]


def loose(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Return a rule for all prefixes of `rules` that are rare enough to stand alone."""
    prefixes = sorted({
        anchor
        for rule in rules
        if rule.family == "vendor" and not rule.before and not rule.ignore_case
        for anchor in rule.anchors
        if _PREFIX.fullmatch(anchor) and anchor[:-1].lower() not in _WORDS
    })  # fmt: skip
    return (
        Rule(
            kind=KIND,
            family="vendor",
            anchors=tuple(prefixes),
            pattern=rf"(?P<value>(?:{'|'.join(map(re.escape, prefixes))})[\w-]{{26,300}}={{0,2}})",
            gate="unnamed",
            true=(
                ("see ", "ghp_" + alnum(44), " here"),
                ("see ", "pplx-" + url_safe(40), " here"),
                ("see ", "glsa_" + url_safe(36), " here"),
            ),
            false=(
                "npm_config_registry_of_the_package_2", "ghp_tokens_are_long_and_start_so_2024",
                "glsa_" + url_safe(12), "rk_live_in_the_house_of_the_rising_sun_27",
            ),
        ),
    )  # fmt: skip


_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{2,}[_-]")
_WORDS = frozenset((
    "api", "app", "auto", "cal", "console", "dataset", "ext", "inference", "key", "kit", "live",
    "local", "luma", "mat", "mint", "org", "perm", "ptr", "pts", "pubkey", "rnd", "sandbox",
    "secret", "sess", "sig", "standard", "ste", "test", "token", "v1.0", "web",
))  # fmt: skip
"""Prefixes that other names start with too."""
