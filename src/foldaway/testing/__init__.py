"""For tests of your own: a transcript builder, hypothesis strategies, deliberate breakages, fakes.

Needs the extra `foldaway[testing]`; nothing in the package imports it.
"""

from foldaway.testing.breakage import BREAKAGES, Breakage, apply
from foldaway.testing.builder import (
    Talk,
    assistant,
    call,
    media,
    result,
    system,
    talk,
    think,
    user,
)
from foldaway.testing.fakes import FixedTokenCounter, ScriptedSummarizer
from foldaway.testing.strategies import (
    PROVIDERS,
    Broken,
    broken_lists,
    logs,
    valid_bodies,
    valid_lists,
    views,
)

__all__ = [
    "BREAKAGES", "PROVIDERS", "Breakage", "Broken", "FixedTokenCounter", "ScriptedSummarizer",
    "Talk", "apply", "assistant", "broken_lists", "call", "logs", "media", "result", "system",
    "talk", "think", "user", "valid_bodies", "valid_lists", "views",
]  # fmt: skip
