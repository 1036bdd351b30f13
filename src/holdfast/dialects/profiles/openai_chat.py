"""OpenAI chat completions."""

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
    result_has_call,
    results_adjacent,
    role_known,
    text_clean,
    tool_speaker,
    tool_text_only,
)

PROFILE = Profile(
    name="openai-chat",
    dialect="openai-chat",
    dated="2026-11",
    rules=(
        message_object.RULE,
        role_known.RULE,
        content_shape.RULE,
        tool_speaker.RULE,
        id_present.RULE,
        id_unique.RULE,
        id_legal.RULE,
        name_legal.RULE,
        arguments_object.RULE,
        text_clean.RULE,
        result_has_call.RULE,
        results_adjacent.RULE,
        call_answered.RULE,
        call_pending.RULE,
        content_present.RULE,
        tool_text_only.RULE,
        keys_foreign.RULE,
    ),
    answers="following run",
    id_pattern=r"[^\x00\ud800-\udfff]{1,64}",
)
