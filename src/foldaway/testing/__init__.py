"""For tests of your own: a transcript builder, deliberate breakages, fakes.

Needs the extra `foldaway[testing]`; nothing in the package imports it.
"""

from foldaway.testing.breakage import BREAKAGES, Breakage, apply
from foldaway.testing.builder import Talk, assistant, call, media, result, system, talk, think, user
from foldaway.testing.fakes import FixedTokenCounter, ScriptedSummarizer

__all__ = [
    "BREAKAGES", "Breakage", "FixedTokenCounter", "ScriptedSummarizer", "Talk", "apply",
    "assistant", "call", "media", "result", "system", "talk", "think", "user",
]  # fmt: skip
