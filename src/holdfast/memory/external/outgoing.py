"""What leaves for a memory that is not ours, and what its package may say in a log."""

from __future__ import annotations

import logging

from holdfast.dialects.jsontext import clean_value

QUERY_CHARS = 4_000
"""Of a question: embedding models refuse more than they can read."""
TEXT_CHARS = 32_000
"""Of one side of a turn."""
ANSWER_CHARS = 16_000
"""Of what comes back; the manager cuts to its own limit after that."""


def sendable(text: str, most: int) -> str:
    """Return the beginning of a text, without what UTF-8 and databases refuse."""
    return clean_value(text[:most]).strip()


def hush(name: str) -> None:
    """Keep a package's log still, unless the host chose a level for it.

    Packages log what they cannot read or store, and with it what people said.
    """
    logger = logging.getLogger(name)
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL + 1)
