"""Text that a compaction generated: found in a record, and taken out of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import replace

from holdfast.dialects.profiles import profile_for
from holdfast.dialects.repair import repair_transcript
from holdfast.errors import NotReadable
from holdfast.facts.frame import merged_summaries, recognise, without_summary
from holdfast.trajectories.notice import without_notice
from holdfast.transcript import Groups, Message, Transcript


def is_compacted(transcript: Transcript) -> bool:
    """Return whether a record holds generated text: a summary, a digest, a placeholder, a notice.

    Summaries of other compressors count too, as far as their form is known.
    """
    messages = recognise(transcript.messages)
    return _holds_generated(messages) or without_notice(transcript) is not transcript


def _holds_generated(messages: Sequence[Message]) -> bool:
    return any(one.is_generated for one in messages) or bool(merged_summaries(messages))


def stripped(transcript: Transcript) -> Transcript:
    """Return the record without generated text; the same object where it holds none.

    A summary goes out of the turn that carries it, or with its turn; a digest goes with the call
    that it answers, as a result cannot stand alone. Where two turns of one speaker then meet, they
    become one. Raises `NotReadable` where nothing else is left.
    """
    messages = recognise(transcript.messages)
    if not _holds_generated(messages):
        return without_notice(transcript)
    merged = merged_summaries(messages)
    kept: list[Message] = []
    for start, stop in pairwise([*Groups(messages).starts, len(messages)]):
        group = messages[start:stop]
        if not any(message.is_generated for message in group):
            kept.extend(
                without_summary(one) if at in merged else one for at, one in enumerate(group, start)
            )
    if not any(message.role in ("user", "assistant") for message in kept):
        raise NotReadable("holds nothing but generated text", where=transcript.frame.path)
    left = without_notice(replace(transcript, messages=tuple(kept)))
    profile = profile_for(transcript.dialect).without("call-pending")
    mended, _ = repair_transcript(left, profile)
    return mended
