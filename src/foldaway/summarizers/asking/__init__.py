"""What a model is asked for, how its answer is read, and how notes go on from each other."""

from __future__ import annotations

from foldaway.summarizers.asking.request import Asking, begin

__all__ = ["Asking", "begin"]
