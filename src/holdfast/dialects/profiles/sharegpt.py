"""Placeholder until the profile is written."""

from msgspec.structs import replace

from holdfast.dialects.profiles import openai_chat

PROFILE = replace(openai_chat.PROFILE, name="sharegpt", dialect="sharegpt")
