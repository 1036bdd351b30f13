"""Holdfast: context management for long-running LLM agents. Compaction you can check."""

from holdfast.dialects.check import check
from holdfast.dialects.load import dump, load
from holdfast.dialects.repair import repair

__all__ = ["check", "dump", "load", "repair"]
