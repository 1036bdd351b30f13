"""What sessions used and cost, from the agents' own files and from the store; nothing is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.usage.figures import (
        CountedAnswer,
        Key,
        Period,
        UsageRow,
        add_up,
        count_once,
        dollars,
        period_of,
        sum_of,
    )
    from foldaway.usage.judging import (
        MOST_PROMPTS,
        judge,
        recordings_of,
        replayed,
        system_tokens_of,
    )
    from foldaway.usage.live import LiveState, live_state, usual_threshold, window_for
    from foldaway.usage.newest import last_session, newest_files, written_at
    from foldaway.usage.numbers import full, money, short, short_paths
    from foldaway.usage.overviews import Overview, overview
    from foldaway.usage.prompts import SYSTEM
    from foldaway.usage.reading import Judgement, Tell, UsageReader, spent_of_store
    from foldaway.usage.record import SpentSession, answers_of


__getattr__ = import_later(
    __name__,
    {
        "figures": "CountedAnswer Key Period UsageRow add_up count_once dollars period_of sum_of",
        "judging": "MOST_PROMPTS judge recordings_of replayed system_tokens_of",
        "live": "LiveState live_state usual_threshold window_for",
        "newest": "last_session newest_files written_at",
        "numbers": "full money short short_paths",
        "overviews": "Overview overview",
        "prompts": "SYSTEM",
        "reading": "Judgement Tell UsageReader spent_of_store",
        "record": "SpentSession answers_of",
    },
)
