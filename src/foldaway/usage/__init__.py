"""What sessions used and cost, from the agents' own files and from the store; nothing is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.usage.categories import (
        KIND_NAMES,
        KINDS,
        Kind,
        kind_in_prompts,
        kind_in_report,
        kind_of_role,
    )
    from foldaway.usage.judging import judge
    from foldaway.usage.live import (
        LiveState,
        last_session,
        live_state,
        newest_files,
        usual_threshold,
        window_for,
        written_at,
    )
    from foldaway.usage.numbers import full, money, short, short_paths
    from foldaway.usage.overviews import Overview, overview
    from foldaway.usage.reading import Judgement, Tell, UsageReader, count_stored_session
    from foldaway.usage.record import SpentSession, answers_of
    from foldaway.usage.requests import (
        RequestRow,
        RequestTotals,
        SessionDetails,
        recorded_usage,
        request_rows,
        request_totals,
        session_details,
    )
    from foldaway.usage.savings import Spared, StepBalance, balance, otherwise
    from foldaway.usage.sums import (
        CountedAnswer,
        Key,
        Period,
        UsageRow,
        UsageSum,
        add_up,
        by_day,
        by_session,
        count_once,
    )


__getattr__ = import_later(
    __name__,
    {
        "categories": "KINDS KIND_NAMES Kind kind_in_prompts kind_in_report kind_of_role",
        "judging": "judge",
        "live": "LiveState last_session live_state newest_files usual_threshold window_for "
        "written_at",
        "numbers": "full money short short_paths",
        "overviews": "Overview overview",
        "reading": "Judgement Tell UsageReader count_stored_session",
        "record": "SpentSession answers_of",
        "requests": "RequestRow RequestTotals SessionDetails recorded_usage request_rows "
        "request_totals session_details",
        "savings": "Spared StepBalance balance otherwise",
        "sums": "CountedAnswer Key Period UsageRow UsageSum add_up by_day by_session count_once",
    },
)
