"""Engines behind the contract of a host: ours, memory beside it, and other packages'."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.agents.engines.contract import ContextEngine
    from foldaway.agents.engines.hermes import HermesEngine, engine_named, engine_names

__getattr__ = import_later(
    __name__, {"contract": "ContextEngine", "hermes": "HermesEngine engine_named engine_names"}
)
