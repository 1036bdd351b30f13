"""All rules, in the order in which they win where two find the same."""

from __future__ import annotations

from holdfast.redaction.rule import Rule
from holdfast.redaction.rules import (
    afterwards,
    assertions,
    clients,
    codes,
    commands,
    comparisons,
    cookie_pairs,
    given,
    headers,
    mentions,
    notations,
    personal,
    prose,
    tokens,
    urls,
    vendors,
)

RULES: tuple[Rule, ...] = (
    *vendors.RULES,
    *tokens.RULES,
    *headers.RULES,
    *urls.RULES,
    *commands.RULES,
    *clients.RULES,
    *comparisons.RULES,
    *assertions.RULES,
    *given.RULES,
    *cookie_pairs.RULES,
    *codes.RULES,
    *notations.RULES,
    *afterwards.RULES,
    *prose.RULES,
    *personal.RULES,
    *mentions.RULES,
)
