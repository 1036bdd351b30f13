"""What no trajectory is: records that are refused before anything is done with them."""

from __future__ import annotations

import re

from holdfast.errors import NotReadable
from holdfast.trajectories.measure import SHAREGPT
from holdfast.transcript import Text, Transcript

_TAG = re.compile(r"<(/?)(tool_call|tool_response|think|thinking|REASONING_SCRATCHPAD)>")


def refuse_unreadable(transcript: Transcript, max_turns: int) -> None:
    """Raise `NotReadable` for a record that cannot be a conversation.

    It has absurdly many turns, no turn of anybody known, or words of an agent in which a tag
    opens again inside itself: then nobody can say what was called.
    """
    turns = len(transcript.messages)
    if turns > max_turns:
        raise NotReadable(f"has {turns:,} turns, more than {max_turns:,}", where=_path(transcript))
    if all(message.role == "unknown" for message in transcript.messages):
        raise NotReadable("has no turn of a known speaker", where=_path(transcript))
    if transcript.dialect != SHAREGPT:
        return
    for at, message in enumerate(transcript.messages):
        if message.role != "assistant":
            continue
        for part in message.parts:
            if type(part) is Text and (tag := _nested(part.text)):
                raise NotReadable(
                    f"a <{tag}> opens inside a <{tag}>", where=f"{_path(transcript)}[{at}]"
                )


def _nested(text: str) -> str:
    """Return the first tag that is opened inside itself and closed there, "" where there is none.

    Words may name a tag without opening one, so what is never closed is no nesting.
    """
    if "</" not in text:
        return ""
    opened: dict[str, int] = {}
    for found in _TAG.finditer(text):
        closes, tag = found.groups()
        depth = opened.get(tag, 0)
        if closes and depth > 1:
            return tag
        opened[tag] = max(depth - 1, 0) if closes else depth + 1
    return ""


def _path(transcript: Transcript) -> str:
    return transcript.frame.path
