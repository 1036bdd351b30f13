"""What a message consists of: text, media, thinking, tool calls and results, and the unknown."""

from __future__ import annotations

from foldaway.transcript import Media, Opaque, Text, Thinking, ToolCall, ToolResult

__all__ = ["Media", "Opaque", "Text", "Thinking", "ToolCall", "ToolResult"]
