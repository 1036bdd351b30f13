"""Search: what of a message is found, how a query is read, how hits are ranked. No disk here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.search.finding import Postings, Row, ScannedText, find, scan
    from foldaway.search.query import parse_query
    from foldaway.search.text import clean, extract_searchable, snippet
    from foldaway.search.values import (
        HIDDEN,
        Filters,
        Match,
        Reveal,
        Revealed,
        Sort,
        Term,
        Wanted,
        Written,
    )
    from foldaway.search.words import WORD, flatten, fold_text, has_term, places, stem, words_of


__getattr__ = import_later(
    __name__,
    {
        "finding": "Postings Row ScannedText find scan",
        "query": "parse_query",
        "text": "clean extract_searchable snippet",
        "values": "Filters HIDDEN Match Reveal Revealed Sort Term Wanted Written",
        "words": "WORD flatten fold_text has_term places stem words_of",
    },
)
