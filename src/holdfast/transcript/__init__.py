"""The nouns: messages and their parts, groups, views. Frozen values; no I/O, no dialect."""

from holdfast.transcript.bare import bare, bare_message
from holdfast.transcript.group import Group, Groups, groups
from holdfast.transcript.message import (
    CallKind,
    Flaw,
    Media,
    MediaKind,
    Message,
    Opaque,
    Origin,
    Part,
    Payload,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_ask,
    texts,
)
from holdfast.transcript.survey import Survey, survey
from holdfast.transcript.transcript import Frame, Transcript
from holdfast.transcript.view import (
    Folded,
    Item,
    Kept,
    Rewritten,
    View,
    extend,
    grow,
    render,
    rewrite,
    whole,
)
from holdfast.transcript.violation import Violation

__all__ = [
    "CallKind", "Flaw", "Folded", "Frame", "Group", "Groups", "Item", "Kept", "Media", "MediaKind",
    "Message", "Opaque", "Origin", "Part", "Payload", "Rewritten", "Role", "Survey", "Text",
    "Thinking", "ToolCall", "ToolResult", "Transcript", "View", "Violation", "bare",
    "bare_message", "extend", "groups", "grow",
    "is_ask", "render", "rewrite", "survey", "texts", "whole",
]  # fmt: skip
