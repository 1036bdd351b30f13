"""Services around the pipeline: the one-shot run, the long-lived engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.engine.brief import (
        BRIEF_TOKENS,
        Brief,
        brief_of,
        handoff_prompt,
        trial_compaction,
    )
    from foldaway.engine.compressor import Compressor, PreviewedRun, Step
    from foldaway.engine.differences import (
        Comparison,
        Fate,
        ViewDifference,
        compare,
        difference,
        find_difference,
        source_position,
    )
    from foldaway.engine.inspection import Copies, Inspection, Long, inspect_transcript
    from foldaway.engine.live_log import GrowingLog
    from foldaway.engine.meter import answer_tokens_of, figures_of, first_int, prompt_tokens_of
    from foldaway.engine.oneshot import Compressed, compress
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
    from foldaway.engine.run import STILL_BROKEN, Model, log_run, make_redactor, model_of
    from foldaway.engine.saved import pack_view, unpack_snapshot, unpack_view
    from foldaway.engine.timing import Clock
    from foldaway.engine.trigger import Decision


__getattr__ = import_later(
    __name__,
    {
        "brief": "BRIEF_TOKENS Brief brief_of handoff_prompt trial_compaction",
        "compressor": "Compressor PreviewedRun Step",
        "differences": "Comparison Fate ViewDifference compare difference find_difference "
        "source_position",
        "inspection": "Copies Inspection Long inspect_transcript",
        "live_log": "GrowingLog",
        "meter": "answer_tokens_of figures_of first_int prompt_tokens_of",
        "oneshot": "Compressed compress",
        "originals": "Generation Placed add_generation join_generations read_originals "
        "recall search undo write_originals",
        "recall_tools": "COMPACT TOOLS tools_in",
        "reducing": "reduce",
        "run": "Model STILL_BROKEN log_run make_redactor model_of",
        "saved": "pack_view unpack_snapshot unpack_view",
        "timing": "Clock",
        "trigger": "Decision",
    },
)
