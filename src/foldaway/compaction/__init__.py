"""How a log becomes a smaller view. START HERE: `compact.plan` and `compact.finish`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.compaction.arrival import (
        GrownView,
        ResultPolicy,
        ShortResult,
        Whole,
        arrived,
        arriving_by,
        as_shown,
        is_on_arrival,
        shown_from,
    )
    from foldaway.compaction.choose import FOLD_MORE
    from foldaway.compaction.compact import Compaction, Plan, Skipped, finish, plan, record
    from foldaway.compaction.join import NOW, PROSE_SHARE, PROSE_WEIGHTS, joined
    from foldaway.compaction.measure import (
        Costs,
        by_category,
        carried_tokens,
        category,
        compared,
        counted_by,
        fixed_categories,
        message_tokens,
        system_shares,
        tools_tokens,
        with_sections,
    )
    from foldaway.compaction.partition import Anchors, Partition, is_native, system_stop
    from foldaway.compaction.references import (
        payload_bytes,
        reference_of,
        reference_to,
        without_older_media,
        without_results,
    )
    from foldaway.compaction.thinking import keeps_stale, stays_from, strip_thinking, unbound_since
    from foldaway.compaction.work import (
        Breaker,
        CompactionInput,
        CompactionState,
        FrozenLog,
        LogIndex,
        Options,
        Wishes,
        Writer,
        carried_in,
    )


__getattr__ = import_later(
    __name__,
    {
        "arrival": "GrownView ResultPolicy ShortResult Whole arrived arriving_by as_shown "
        "is_on_arrival shown_from",
        "choose": "FOLD_MORE",
        "compact": "Compaction Plan Skipped finish plan record",
        "join": "NOW PROSE_SHARE PROSE_WEIGHTS joined",
        "measure": "Costs by_category carried_tokens category compared counted_by "
        "fixed_categories message_tokens system_shares tools_tokens with_sections",
        "partition": "Anchors Partition is_native system_stop",
        "references": "payload_bytes reference_of reference_to without_older_media without_results",
        "thinking": "keeps_stale stays_from strip_thinking unbound_since",
        "work": "Breaker carried_in CompactionInput CompactionState FrozenLog LogIndex Options "
        "Wishes Writer",
    },
)
