"""The nouns: messages and their parts, groups, views. Frozen values; no I/O, no dialect."""

from foldaway.errors import Violation
from foldaway.transcript.group import Group, Groups, Survey, groups, survey
from foldaway.transcript.message import (
    CallKind,
    Flaw,
    Frame,
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
    Transcript,
    bare,
    bare_message,
    is_ask,
    texts,
)
from foldaway.transcript.view import (
    Folded,
    Item,
    Kept,
    Rewritten,
    View,
    extend,
    grow,
    render,
    rewrite,
    whole_view,
)

__all__ = [
    "CallKind", "Flaw", "Folded", "Frame", "Group", "Groups", "Item", "Kept", "Media", "MediaKind",
    "Message", "Opaque", "Origin", "Part", "Payload", "Rewritten", "Role", "Survey", "Text",
    "Thinking", "ToolCall", "ToolResult", "Transcript", "View", "Violation", "bare",
    "bare_message", "extend", "groups", "grow",
    "is_ask", "render", "rewrite", "survey", "texts", "whole_view",
]  # fmt: skip
