"""ShareGPT conversations: no provider, but what trainers and converters rely on."""

from holdfast.dialects.rule import Profile
from holdfast.dialects.rules import (
    arguments_object,
    call_answered,
    content_present,
    content_shape,
    message_object,
    result_has_call,
    role_known,
    roles_alternate,
    text_clean,
)

PROFILE = Profile(
    name="sharegpt",
    dialect="sharegpt",
    dated="2026-11",
    rules=(
        message_object.RULE,
        role_known.RULE,
        content_shape.RULE,
        arguments_object.RULE,
        text_clean.RULE,
        result_has_call.RULE,
        call_answered.RULE,
        content_present.RULE,
        roles_alternate.RULE,
    ),
    answers="following run",
)
