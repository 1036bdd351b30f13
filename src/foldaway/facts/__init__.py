"""What a message shows: facts, effects, the ledger that keeps them, the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.facts.dialogue.cues import language_of
    from foldaway.facts.dialogue.statements import due_later
    from foldaway.facts.dialogue.text import sentences, words_of
    from foldaway.facts.effects.calls import ToolUse, use_of
    from foldaway.facts.effects.effect import normalize
    from foldaway.facts.frame import (
        FRAME_WORDS,
        GAP,
        RESULT_OPEN,
        carried_summary,
        gap_mark,
        handed_over,
        is_known_at,
        mark_text,
        merged_summaries,
        origin_of,
        part_text,
        recognize,
        shown_part,
        split_summary,
        summary_body,
        summary_text,
        without_summary,
    )
    from foldaway.facts.ledger.lines import cut, terms_of, whole_words
    from foldaway.facts.ledger.state import open_failures
    from foldaway.facts.names import (
        RUNS,
        Known,
        Likeness,
        Name,
        bare,
        likeness,
        lookup_terms,
        names_in,
        without_names,
        words_in,
    )
    from foldaway.facts.reading import (
        LINES_OF_CHARS,
        FactReader,
        LogReading,
        answered_calls,
        cleaned,
    )
    from foldaway.facts.rows import data_rows
    from foldaway.facts.speakers import (
        Speaker,
        asks_back,
        goes_on,
        own_words,
        report_told,
        speaker_of,
        without_blocks,
    )
    from foldaway.facts.summary import (
        NOTES_WITHOUT_MODEL,
        SECTIONS,
        Entry,
        Section,
        Summary,
        parse_summary,
    )
    from foldaway.facts.tools import ARGUMENTS, family_of, read_arguments


__getattr__ = import_later(
    __name__,
    {
        "dialogue.cues": "language_of",
        "dialogue.statements": "due_later",
        "dialogue.text": "sentences words_of",
        "effects.calls": "ToolUse use_of",
        "effects.effect": "normalize",
        "frame": "FRAME_WORDS GAP RESULT_OPEN carried_summary gap_mark handed_over is_known_at "
        "mark_text merged_summaries origin_of part_text recognize shown_part split_summary "
        "summary_body summary_text without_summary",
        "ledger.lines": "cut terms_of whole_words",
        "ledger.state": "open_failures",
        "names": "Known Likeness Name RUNS bare likeness lookup_terms names_in without_names "
        "words_in",
        "reading": "answered_calls cleaned FactReader LINES_OF_CHARS LogReading",
        "rows": "data_rows",
        "speakers": "Speaker asks_back goes_on own_words report_told speaker_of without_blocks",
        "summary": "Entry NOTES_WITHOUT_MODEL SECTIONS Section Summary parse_summary",
        "tools": "ARGUMENTS family_of read_arguments",
    },
)
