"""What a message shows: facts, effects, the ledger that keeps them, the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.facts.cleaning import cleaned, cleaned_call, words_looked_at
    from foldaway.facts.dialogue.cues import language_of
    from foldaway.facts.dialogue.text import sentences, words_of
    from foldaway.facts.effects.calls import effects_of_call, list_of, path_of
    from foldaway.facts.effects.effect import normalize
    from foldaway.facts.frame import (
        GAP,
        RESULT_OPEN,
        SUMMARY_AFTERWORD,
        SUMMARY_BRIEF,
        SUMMARY_CLOSE,
        SUMMARY_OPEN,
        SUMMARY_PREAMBLE,
        carried_summary,
        gap_mark,
        mark_text,
        merged_summaries,
        origin_of,
        part_text,
        recognize,
        shown_part,
        split_summary,
        summary_body,
        summary_of,
        summary_text,
        without_summary,
    )
    from foldaway.facts.ledger.lines import cut, terms_of, whole_words
    from foldaway.facts.ledger.open_failures import open_failures
    from foldaway.facts.ledger.state import known_files, last_test, running_now
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
        aimed,
        focused,
        merged,
        parse_summary,
        render_summary,
        stating,
    )
    from foldaway.facts.tables import read_table, read_words
    from foldaway.facts.tools import (
        ARGUMENTS,
        FAMILIES,
        arguments_given,
        command_of,
        family_of,
        first_of,
        read_arguments,
    )


__getattr__ = import_later(
    __name__,
    {
        "cleaning": "cleaned cleaned_call words_looked_at",
        "dialogue.cues": "language_of",
        "dialogue.text": "sentences words_of",
        "effects.calls": "effects_of_call list_of path_of",
        "effects.effect": "normalize",
        "frame": "GAP RESULT_OPEN SUMMARY_AFTERWORD SUMMARY_BRIEF SUMMARY_CLOSE SUMMARY_OPEN "
        "SUMMARY_PREAMBLE carried_summary gap_mark mark_text merged_summaries origin_of "
        "part_text recognize shown_part split_summary summary_body summary_of "
        "summary_text without_summary",
        "ledger.lines": "cut terms_of whole_words",
        "ledger.open_failures": "open_failures",
        "ledger.state": "known_files last_test running_now",
        "names": "Known Likeness Name RUNS bare likeness lookup_terms names_in without_names "
        "words_in",
        "rows": "data_rows",
        "speakers": "Speaker asks_back goes_on own_words report_told speaker_of without_blocks",
        "summary": "Entry NOTES_WITHOUT_MODEL SECTIONS Section Summary aimed focused merged "
        "parse_summary render_summary stating",
        "tables": "read_table read_words",
        "tools": "ARGUMENTS FAMILIES arguments_given command_of family_of first_of read_arguments",
    },
)
