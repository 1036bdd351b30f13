"""All rules, in the order in which they win where two find the same."""

from __future__ import annotations

from holdfast.redaction.rule import Rule
from holdfast.redaction.rules import (
    admin,
    afterwards,
    argv,
    assertions,
    calls,
    clients,
    codes,
    commands,
    comparisons,
    given,
    hashed,
    hashes,
    headers,
    mentions,
    notations,
    onetime,
    pairs,
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
    *argv.RULES,
    *comparisons.RULES,
    *assertions.RULES,
    *given.RULES,
    *hashed.RULES,
    *codes.RULES,
    *notations.RULES,
    *afterwards.RULES,
    *prose.RULES,
    *pairs.RULES,
    *personal.RULES,
    *mentions.RULES,
)
