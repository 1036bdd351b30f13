"""Foldaway inside agent frameworks and in clients of providers; import the one you need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.integrations.clients import wrap

__getattr__ = import_later(__name__, {"clients": "wrap"})
