"""A server between agents and providers: what they send stays valid, small and cached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.gateway.actions import ApiContext, NotThere, search
    from foldaway.gateway.api import ROOT, api_routes, mount_api, problem_body
    from foldaway.gateway.api_token import read_token
    from foldaway.gateway.api_values import SearchAsked
    from foldaway.gateway.app import serve, serve_app
    from foldaway.gateway.events import Events, SessionChanged
    from foldaway.gateway.figures import GatewayFault, Outcome
    from foldaway.gateway.guard import ENTRY, Guard, Owner, Terms
    from foldaway.gateway.identity import OWN_HEADER, make_start_name, read_client_name
    from foldaway.gateway.options import GatewayOptions
    from foldaway.gateway.requests import read_client_turn
    from foldaway.gateway.states import CompactionTold, ConversationState
    from foldaway.gateway.windows import told_window
    from foldaway.gateway.wires import provider_address, usage_in


__getattr__ = import_later(
    __name__,
    {
        "actions": "ApiContext NotThere search",
        "api": "ROOT api_routes mount_api problem_body",
        "api_token": "read_token",
        "api_values": "SearchAsked",
        "app": "serve serve_app",
        "events": "Events SessionChanged",
        "figures": "GatewayFault Outcome",
        "guard": "ENTRY Guard Owner Terms",
        "identity": "OWN_HEADER make_start_name read_client_name",
        "options": "GatewayOptions",
        "requests": "read_client_turn",
        "states": "CompactionTold ConversationState",
        "windows": "told_window",
        "wires": "provider_address usage_in",
    },
)
