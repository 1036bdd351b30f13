"""A server between agents and providers: what they send stays valid, small and cached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.gateway.actions import ApiContext, NotThere, make_context
    from foldaway.gateway.api import ROOT, ApiProblem, ErrorAnswer, api_routes, mount_api
    from foldaway.gateway.api_token import make_token, read_token, token_file
    from foldaway.gateway.api_values import SearchAsked
    from foldaway.gateway.app import MakePages, listen, serve, server_of
    from foldaway.gateway.audit import Audit
    from foldaway.gateway.conversations import GatewayOptions
    from foldaway.gateway.events import Events, SessionChanged
    from foldaway.gateway.figures import GatewayFault, Outcome
    from foldaway.gateway.guard import ENTRY, Guard, Owner, Terms, cookie_for, cookie_name, page_key
    from foldaway.gateway.identity import OWN_HEADER, make_start_name, read_client_name
    from foldaway.gateway.requests import Turn, read_turn
    from foldaway.gateway.states import CompactionTold, ConversationState
    from foldaway.gateway.windows import Windows
    from foldaway.gateway.wires import WIRES, route_of, upstream_of, usage_in


__getattr__ = import_later(
    __name__,
    {
        "actions": "ApiContext NotThere make_context",
        "api": "ApiProblem ErrorAnswer ROOT api_routes mount_api",
        "api_token": "make_token read_token token_file",
        "api_values": "SearchAsked",
        "app": "MakePages listen serve server_of",
        "audit": "Audit",
        "conversations": "GatewayOptions",
        "events": "Events SessionChanged",
        "figures": "GatewayFault Outcome",
        "guard": "ENTRY Guard Owner Terms cookie_for cookie_name page_key",
        "identity": "OWN_HEADER read_client_name make_start_name",
        "requests": "Turn read_turn",
        "states": "CompactionTold ConversationState",
        "windows": "Windows",
        "wires": "WIRES route_of upstream_of usage_in",
    },
)
