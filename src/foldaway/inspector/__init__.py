"""Pages on which a person sees sessions: what the model saw, what was folded, what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.inspector.app import OpenServer, pages_beside
    from foldaway.inspector.beside_gateway import gateway_pages
    from foldaway.inspector.site import ROOT


__getattr__ = import_later(
    __name__,
    {
        "app": "OpenServer pages_beside",
        "beside_gateway": "gateway_pages",
        "site": "ROOT",
    },
)
