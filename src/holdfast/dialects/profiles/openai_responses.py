"""OpenAI Responses."""

from holdfast.dialects.rule import Profile
from holdfast.dialects.rules import (
    arguments_object,
    call_answered,
    call_pending,
    content_present,
    content_shape,
    id_legal,
    id_present,
    id_unique,
    keys_foreign,
    message_object,
    name_legal,
    reasoning_followed,
    result_has_call,
    role_known,
    text_clean,
)

PROFILE = Profile(
    name="openai-responses",
    dialect="openai-responses",
    dated="2026-11",
    rules=(
        message_object.RULE,
        role_known.RULE,
        content_shape.RULE,
        id_present.RULE,
        id_unique.RULE,
        id_legal.RULE,
        name_legal.RULE,
        arguments_object.RULE,
        text_clean.RULE,
        keys_foreign.RULE,
        result_has_call.RULE,
        call_answered.RULE,
        call_pending.RULE,
        content_present.RULE,
        reasoning_followed.RULE,
    ),
    answers="anywhere",
    name_pattern=r"[a-zA-Z0-9_-]{1,128}",
    id_pattern=r"[^\x00\ud800-\udfff]{1,64}",
    foreign_keys=frozenset({"tool_calls", "tool_call_id", "reasoning_content"}),
)
