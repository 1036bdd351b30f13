"""Pages on which a person sees sessions: what the model saw, what was folded, what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.gateway.inspector.app import OpenServer, pages_beside
    from foldaway.gateway.inspector.lazy_pages import gateway_pages
    from foldaway.gateway.inspector.site import ROOT


__getattr__ = import_later(
    __name__, {"app": "OpenServer pages_beside", "lazy_pages": "gateway_pages", "site": "ROOT"}
)
