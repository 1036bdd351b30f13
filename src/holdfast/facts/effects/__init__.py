"""What a tool call did to files, read from its arguments alone."""

from __future__ import annotations

from holdfast.facts.effects.calls import effects_of_call
from holdfast.facts.effects.effect import Action, Effect, effects_of_patch
from holdfast.facts.effects.run import effects_of_command

__all__ = ["Action", "Effect", "effects_of_call", "effects_of_command", "effects_of_patch"]
