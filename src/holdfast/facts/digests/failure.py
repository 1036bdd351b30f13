"""Whether a tool said that it did not do what was asked, and in which words."""

from __future__ import annotations

import re

from holdfast.facts.digests.line import clip, first_line

_FAILED = (
    "<tool_use_error", "<error>", "[error]", "error:", "error ", "failed ", "failed:", "failure",
    "tool failed", "request failed", "operation failed", "fatal:", "fatal error", "exception",
    "traceback (", "apply_patch verification failed", "ran into ", "invalid ", "could not ",
    "couldn't ", "cannot ", "can't ", "unable to ", "no such ", "permission denied",
    "access denied", "not found", "timed out", "timeout", "string to replace not found",
    "no changes", "command not found",
)  # fmt: skip
_REJECTED = ("the user doesn't want", "the user doesn’t want", "the user rejected",
             "the user denied", "the tool use was rejected")  # fmt: skip
_RAISED = re.compile(r"[\w.]{1,60}(?:Error|Exception): \S")
_HEAD_CHARS = 80
_LOOKED_AT_CHARS = 2_000
_TAGS = re.compile(r"</?[a-z_]{1,30}>")
_SAID = "the user said:"


def failure_in(output: str, most: int = 140) -> str:
    """Return how a tool worded its failure at the start of its output, "" where it did not fail.

    Content that only mentions failures further down, such as a file, is none.
    """
    head = output[:_HEAD_CHARS].lstrip()
    start = head.lower()
    if start.startswith(_FAILED) or (": " in head and _RAISED.match(head)):
        return first_line(untagged(output), most).rstrip(":")
    if not start.startswith(_REJECTED):
        return ""
    at = output.find(_SAID, 0, _LOOKED_AT_CHARS)
    said = clip(output[at + len(_SAID) :].strip(), most) if at >= 0 else ""
    return f"rejected by the user: {said}" if said else "rejected by the user"


def untagged(output: str) -> str:
    """Return the start of an output without the tags that some agents put around it."""
    return _TAGS.sub(" ", output[:_LOOKED_AT_CHARS]).strip()
