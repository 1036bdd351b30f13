"""All rules, in the order in which they win where two find the same."""

from __future__ import annotations

from holdfast.redaction.rule import Rule
from holdfast.redaction.rules import (
    admin,
    afterwards,
    assertions,
    calls,
    clients,
    codes,
    commands,
    comparisons,
    given,
    hashes,
    headers,
    mentions,
    notations,
    onetime,
    personal,
    prose,
    tokens,
    urls,
    vendors,
)

RULES: tuple[Rule, ...] = (
    *vendors.RULES,
    *tokens.RULES,
    *hashes.RULES,
    *admin.RULES,
    *onetime.RULES,
    *calls.RULES,
    *headers.RULES,
    *urls.RULES,
    *commands.RULES,
    *clients.RULES,
    *comparisons.RULES,
    *assertions.RULES,
    *given.RULES,
    *codes.RULES,
    *notations.RULES,
    *afterwards.RULES,
    *prose.RULES,
    *personal.RULES,
    *mentions.RULES,
)
