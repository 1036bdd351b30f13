"""A known prefix before something random: vendors change the length and the letters of a token."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from holdfast.redaction.rule import Rule
from holdfast.redaction.rules.vendor_form import UUID, alnum, hexes, url_safe

KIND = "vendor-token"

_SAYS = "live|test|prod|production|sandbox|staging|api|key|access|priv|private|secret|token|apikey"
MARKED = (
    Rule(
        kind="marked-token",
        family="vendor",
        anchors=(
            *(f"{joint}{word}{joint}" for word in _SAYS.split("|") for joint in "_-"),
            "pat_", "pat-", "sat_", "sk_", "sk-", "rk_", "rk-", "apikey_", "apikey-",
            "secret_", "token_", "live_",
        ),
        before=56,
        inside_word=True,
        not_after=r"(?:sha(?:1|256|384|512)|md5|integrity)[=:-]",
        # the short name of a vendor, a word that says what it is, perhaps one more, a random rest
        pattern=r"(?:\A|[^\w-]|%[0-9a-fA-F]{2}|\\[nrt])(?P<value>(?:[A-Za-z][A-Za-z0-9]{1,15}[_-]){0,3}"
        rf"(?:{_SAYS}|sat|sk|rk|[a-z0-9]{{0,12}}pat)[_-](?:[a-z0-9]{{1,10}}[_-]){{0,2}}"
        r"[A-Za-z0-9][\w-]{19,299}={0,2}(?:\.[\w-]{6,}){0,3})",
        gate="marked",
        true=(
            ("see ", "zentrix_live_" + alnum(24), " here"),
            ("see ", "zentrix_test_" + alnum(32), " here"),
            ("see ", "zx-api-" + alnum(40), " here"),
            ("see ", "zx_pat_" + hexes(40), " here"),
            ("see ", "zxpat_" + alnum(30), " here"),
            ("see ", "pat_" + hexes(32), " here"),
            ("see ", "sk-zentrix-v1-" + url_safe(40), " here"),
            ("see ", "zx_secret_" + UUID, " here"),
            ("https://host.test/", "zx_live_" + alnum(24), "/x"),
        ),
        false=(
            "test_api_something_that_is_long_2", "cache_key_" + hexes(40), "app-prod-" + hexes(40),
            "user_key_01JAV4Q5Y7Z8X9W0V1T2S3R4Q5", "pk_live_" + alnum(24), "call_" + alnum(24),
            "toolu_" + alnum(24), "compat_layer_for_older_versions_of_it_2",
            "web-test-6d4cf56db6-x2x9z",
            "max_token_count_of_the_model_2", "disk_" + hexes(40), "sha256=zx-api-" + url_safe(40),
            "sk_OSSL_ROLE_SPEC_CERT_ID_set_cmp_func",
        ),
    ),
)  # fmt: skip


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
            pattern=rf"(?P<value>(?:{'|'.join(map(re.escape, prefixes))})[\w-]{{26,300}}={{0,2}}"
            r"(?:\.[\w-]{6,}){0,3})",
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
    "access", "api", "app", "auto", "cal", "console", "dataset", "ext", "inference", "key",
    "kit", "live", "local", "luma", "mat", "mint", "org", "perm", "private", "ptr", "pts",
    "pubkey", "rnd", "sandbox", "secret", "sess", "sig", "standard", "ste", "test", "token",
    "v1.0", "web",
))  # fmt: skip
"""Prefixes that other names start with too."""
