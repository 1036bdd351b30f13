"""Gemini contents."""

from holdfast.dialects.rule import Profile
from holdfast.dialects.rules import (
    arguments_object,
    call_answered,
    call_pending,
    content_present,
    content_shape,
    id_present,
    id_unique,
    keys_foreign,
    message_object,
    name_legal,
    result_has_call,
    results_adjacent,
    role_known,
    text_clean,
    thought_signature,
    tool_speaker,
    user_first,
)

PROFILE = Profile(
    name="gemini",
    dialect="gemini",
    dated="2026-11",
    rules=(
        message_object.RULE,
        role_known.RULE,
        content_shape.RULE,
        tool_speaker.RULE,
        id_present.RULE,
        id_unique.RULE,
        name_legal.RULE,
        arguments_object.RULE,
        text_clean.RULE,
        keys_foreign.RULE,
        result_has_call.RULE,
        results_adjacent.RULE,
        call_answered.RULE,
        call_pending.RULE,
        content_present.RULE,
        user_first.RULE,
        thought_signature.RULE,
    ),
    answers="next message",
    result_role="user",
    arguments="object",
    prefers_alternation=True,
    name_pattern=r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}",
    foreign_keys=frozenset(
        {"content", "tool_calls", "tool_call_id", "reasoning_content", "name", "id", "timestamp",
         "type"}
    ),
    signed_call_models=("*gemini-[3-9]*",),
)  # fmt: skip
