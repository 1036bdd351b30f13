"""The plug-in folder for Claude Code says what `foldaway install claude-code` writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import foldaway
from foldaway.agents.installing.programs import list_additions
from foldaway.agents.known import agent_named

PLUGIN = Path(__file__).resolve().parents[3] / "plugins" / "claude-code"


def of(name: str) -> Any:
    return json.loads((PLUGIN / name).read_text())


def test_the_plugin_has_the_hooks_and_the_server_of_the_table() -> None:
    """With `foldaway` from the PATH: the folder can be anywhere."""
    additions = list_additions(agent_named("claude-code"), {"HOME": "/h", "PATH": ""})
    hooks = {one.path[-1]: [one.value] for one in additions if one.is_item}
    for ((group,),) in zip(hooks.values(), strict=True):
        group["hooks"][0]["command"] = "foldaway hook claude-code"
    assert of("hooks/hooks.json") == {"hooks": hooks}
    assert of(".mcp.json")["mcpServers"]["foldaway"]["args"] == ["mcp"]
    assert of(".claude-plugin/plugin.json")["version"] == foldaway.__version__
    (listed,) = of("../.claude-plugin/marketplace.json")["plugins"]
    assert (PLUGIN.parent / listed["source"]).resolve() == PLUGIN
