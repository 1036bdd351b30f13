"""Which tools of a memory server search and add."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.errors import InvalidSetting
from foldaway.memory.external.mcp import OTHER_VERBS, ServerTool, TextTool, choose_tool

TEXT = {"type": "string"}


def tool(name: str, *must: str, **more: Any) -> ServerTool:
    """A tool with texts that must be given, and other arguments."""
    properties = {**dict.fromkeys(must, TEXT), **more}
    return ServerTool(name, {"type": "object", "properties": properties, "required": list(must)})


SERVERS: dict[str, tuple[list[ServerTool], tuple[str, str], tuple[str, str]]] = {
    "openmemory": (
        [
            tool("add_memories", "text"), tool("search_memory", "query"), tool("list_memories"),
            tool("delete_all_memories"),
        ],
        ("search_memory", "query"), ("add_memories", "text"),
    ),
    "qdrant": (
        [
            tool("qdrant-find", "query"),
            tool("qdrant-store", "information", metadata={"type": "object"}),
        ],
        ("qdrant-find", "query"), ("qdrant-store", "information"),
    ),
    "memory-service": (
        [
            tool("search_by_tag", tags={"type": "array"}), tool("delete_memory", "content_hash"),
            tool("recall_memory", "query"), tool("retrieve_memory", "query"),
            tool("store_memory", "content", metadata={"type": "object"}),
        ],
        ("retrieve_memory", "query"), ("store_memory", "content"),
    ),
    "knowledge graph": (
        [
            ServerTool("create_entities", {
                "properties": {"entities": {"type": "array"}}, "required": ["entities"],
            }),
            tool("search_nodes", "query"), tool("open_nodes"), tool("read_graph"),
        ],
        ("search_nodes", "query"), ("", ""),
    ),
    "graphiti": (
        [
            tool("add_memory", "name", "episode_body"), tool("search_nodes", "query"),
            tool("search_memory_facts", "query", group_ids={"type": "array"}),
        ],
        ("search_memory_facts", "query"), ("", ""),
    ),
    "camel case": (
        [tool("addToSupermemory", "thingToRemember"), tool("searchSupermemory", "infoToGet")],
        ("searchSupermemory", "infoToGet"), ("addToSupermemory", "thingToRemember"),
    ),
}  # fmt: skip


@each_row("server", SERVERS)
def test_the_tools_of_known_servers_are_found(server: str) -> None:
    """By their names and schemas alone; where an add wants more than a text, there is none."""
    tools, searching, adding = SERVERS[server]
    for purpose, (name, argument) in (("search", searching), ("add", adding)):
        found = choose_tool(purpose, TextTool(), tools)  # type: ignore[arg-type]
        expected = TextTool(name=name, argument=argument) if name else None
        assert found == expected


def test_constants_fill_what_a_tool_wants_beside_the_text() -> None:
    """A tool fits once all that it requires is given, and the constants go with every call."""
    tools = [tool("write_note", "title", "content", "folder")]
    assert choose_tool("add", TextTool(), tools) is None
    constant = {"title": "turn", "folder": "foldaway"}
    chosen = choose_tool("add", TextTool(constant=constant), tools)
    assert chosen is not None
    assert chosen.arguments("a fact") == {**constant, "content": "a fact"}


def test_a_named_tool_is_taken_at_its_word_or_refused_with_the_known_ones() -> None:
    """Whatever its name says; an argument that cannot be told is asked for."""
    tools = [tool("forget_nothing", "a", "b"), tool("note", "text")]
    chosen = choose_tool("add", TextTool(name="forget_nothing", argument="b"), tools)
    assert chosen == TextTool(name="forget_nothing", argument="b")
    with pytest.raises(InvalidSetting, match=r"memory.mcp.search_tool.*forget_nothing, note"):
        choose_tool("search", TextTool(name="gone"), tools)
    with pytest.raises(InvalidSetting, match=r"memory.mcp.add_argument.*a, b"):
        choose_tool("add", TextTool(name="forget_nothing"), tools)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "properties", "required", "anyOf", "query", "text", "string"]),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip
NAMES = st.sampled_from(["search", "add_memory", "delete_search", "storeForget", "", "🦀 find"])


@pytest.mark.slow
@given(
    st.lists(st.builds(ServerTool, NAMES, st.dictionaries(st.text(max_size=12), JSON, max_size=4)))
)
def test_no_list_of_tools_breaks_the_choice(tools: list[ServerTool]) -> None:
    """Whatever a server lists: a tool of it that destroys nothing, with an argument it has."""
    for purpose in ("search", "add"):
        chosen = choose_tool(purpose, TextTool(), tools)  # type: ignore[arg-type]
        if chosen is not None:
            (chosen, *_) = (one for one in tools if one.name == chosen.name)
            assert not any(verb in chosen.name.lower() for verb in OTHER_VERBS)
            assert isinstance(chosen.schema["properties"], dict)
