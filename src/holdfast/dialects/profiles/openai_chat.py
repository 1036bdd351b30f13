"""OpenAI chat completions."""

from holdfast.dialects.rule import Profile
from holdfast.dialects.rules import result_has_call, role_known

PROFILE = Profile(
    name="openai-chat",
    dialect="openai-chat",
    dated="2026-11",
    rules=(
        role_known.RULE,
        result_has_call.RULE,
    ),
    answers="following run",
)
