"""The words by which the judge of statements reads logs and records (`statements.toml`)."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

WORDS: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("statements.toml").read_text(encoding="utf-8")
)


def pattern(table: str, name: str, flags: int = re.MULTILINE) -> re.Pattern[str]:
    """Return a pattern of the table of words."""
    return re.compile(WORDS[table][name], re.IGNORECASE | re.VERBOSE | flags)
