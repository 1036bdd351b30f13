"""Services around the pipeline: the one-shot run, the long-lived engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.engine.compressor import Compressor, PreviewedRun, Step
    from foldaway.engine.conversation_log import pack_view, unpack_snapshot, unpack_view
    from foldaway.engine.inspection import (
        Comparison,
        Copies,
        Fate,
        Inspection,
        Long,
        ViewDifference,
        compare,
        difference,
        find_difference,
        inspect_transcript,
        source_position,
    )
    from foldaway.engine.live_log import GrowingLog
    from foldaway.engine.oneshot import (
        BRIEF_TOKENS,
        Brief,
        Compressed,
        brief_of,
        compress,
        handoff_prompt,
        trial_compaction,
    )
    from foldaway.engine.originals import (
        Generation,
        Placed,
        add_generation,
        join_generations,
        read_originals,
        recall,
        search,
        undo,
        write_originals,
    )
    from foldaway.engine.recall_tools import COMPACT, TOOLS, tools_in
    from foldaway.engine.reducing import reduce
    from foldaway.engine.requests import answer_tokens_of, figures_of, first_int, prompt_tokens_of
    from foldaway.engine.run import STILL_BROKEN, Model, log_run, make_redactor, model_of
    from foldaway.engine.timing import Clock
    from foldaway.engine.trigger import Decision


__getattr__ = import_later(
    __name__,
    {
        "compressor": "Compressor PreviewedRun Step",
        "conversation_log": "pack_view unpack_snapshot unpack_view",
        "inspection": "compare Comparison Copies difference Fate find_difference "
        "inspect_transcript Inspection Long source_position ViewDifference",
        "live_log": "GrowingLog",
        "oneshot": "Brief brief_of BRIEF_TOKENS compress Compressed handoff_prompt "
        "trial_compaction",
        "originals": "Generation Placed add_generation join_generations read_originals recall "
        "search undo write_originals",
        "recall_tools": "COMPACT TOOLS tools_in",
        "reducing": "reduce",
        "requests": "answer_tokens_of figures_of first_int prompt_tokens_of",
        "run": "Model STILL_BROKEN log_run make_redactor model_of",
        "timing": "Clock",
        "trigger": "Decision",
    },
)
