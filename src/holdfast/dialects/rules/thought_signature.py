"""The first call of each step of the current turn carries its thought signature."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.dialects.rule import Case, Mended, Rule
from holdfast.dialects.rules.edit import Edits
from holdfast.dialects.rules.pairs import last_ask
from holdfast.transcript import ToolCall, Violation

NAME = "thought-signature"
ESCAPE = "skip_thought_signature_validator"
"""The signature that the provider documents for calls that it did not write itself."""


def check(case: Case) -> list[Violation]:
    """Return the first calls without a signature, on models that sign them.

    Where the model is not known, a signed call in the current turn says that it does.
    """
    return [
        case.fault(
            NAME, at, call.at,
            f"{call.name!r}, the first call of the step, has no thought signature",
            f"put back the signature; for a foreign call the provider takes {ESCAPE!r}",
        )
        for at, call in _unsigned(case)
    ]  # fmt: skip


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Set the documented signature of calls that the provider did not write."""
    del violations
    edits = Edits()
    unsigned = _unsigned(case)
    for at, call in unsigned:
        edits.put(at, call, replace(call, signature=ESCAPE, intact=False))
    actions = tuple(
        case.action(NAME, at, f"the call {call.name!r} carries {ESCAPE!r}, as documented for calls "
                              "without a signature")
        for at, call in unsigned
    )  # fmt: skip
    return Mended(edits.applied(case.messages), actions)


def _unsigned(case: Case) -> list[tuple[int, ToolCall]]:
    if not case.index.calls:
        return []
    start = last_ask(case.messages)
    current = [(at, call) for at, call in case.index.calls if at > start]
    signs = case.model_is(case.profile.signed_call_models) or any(
        call.signature for _, call in current
    )
    if not signs:
        return []
    first = dict(reversed(current))
    return [(at, call) for at, call in sorted(first.items()) if not call.signature]


RULE = Rule(
    name=NAME,
    states="The first call of each step of the current turn carries its thought signature.",
    check=check,
    mend=mend,
    mends=f"sets the signature that is documented for foreign calls, `{ESCAPE}`",
)
