"""A chat in the terminal; hosts can copy its model, tools and turns, which do not know it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.agents.chat.demo import DemoModel
    from foldaway.agents.chat.host import Host
    from foldaway.agents.chat.model import ChatModel
    from foldaway.agents.chat.screen import Screen
    from foldaway.agents.chat.tools import Toolbox, read_servers

__getattr__ = import_later(
    __name__,
    {
        "demo": "DemoModel",
        "host": "Host",
        "model": "ChatModel",
        "screen": "Screen",
        "tools": "Toolbox read_servers",
    },
)
