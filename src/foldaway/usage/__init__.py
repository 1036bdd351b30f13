"""What sessions used and cost, from the agents' own files and from the store; nothing is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.usage.balances import OwnCompaction, StepBalance
    from foldaway.usage.blocks import UsageBlock
    from foldaway.usage.categories import (
        KIND_NAMES,
        KINDS,
        Kind,
        kind_in_prompts,
        kind_in_report,
        kind_of_role,
    )
    from foldaway.usage.contents import (
        By,
        WindowPiece,
        describe_largest,
        group_pieces,
        piece_of,
        squarify,
    )
    from foldaway.usage.counting import AnswerTable, count_once
    from foldaway.usage.live import LiveState, SessionFile, live_state, usual_threshold, window_for
    from foldaway.usage.overviews import Overview, ReplayedSession, overview
    from foldaway.usage.reading import Judgement, UsageReader, count_stored_session
    from foldaway.usage.record import SpentSession, answers_of
    from foldaway.usage.requests import (
        RequestRow,
        RequestTotals,
        SessionDetails,
        conversation_usage,
        recorded_usage,
        request_rows,
        session_details,
    )
    from foldaway.usage.savings import judge, otherwise
    from foldaway.usage.spending import SpendingLimit
    from foldaway.usage.sums import (
        Key,
        Period,
        UsageRow,
        UsageSum,
        add_up_each,
        by_day,
        by_session,
        full,
        money,
        short,
        short_paths,
    )


__getattr__ = import_later(
    __name__,
    {
        "balances": "OwnCompaction StepBalance",
        "blocks": "UsageBlock",
        "categories": "KINDS KIND_NAMES Kind kind_in_prompts kind_in_report kind_of_role",
        "contents": "By WindowPiece describe_largest group_pieces piece_of squarify",
        "counting": "AnswerTable count_once",
        "live": "LiveState SessionFile live_state usual_threshold window_for",
        "overviews": "Overview ReplayedSession overview",
        "reading": "Judgement UsageReader count_stored_session",
        "record": "SpentSession answers_of",
        "requests": "RequestRow RequestTotals SessionDetails conversation_usage recorded_usage "
        "request_rows session_details",
        "savings": "judge otherwise",
        "spending": "SpendingLimit",
        "sums": "Key Period UsageRow UsageSum add_up_each by_day by_session full money short "
        "short_paths",
    },
)
