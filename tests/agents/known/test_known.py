"""What is known of agents: a file for each, and every surface asks it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec import Struct

from foldaway.agents.importers import plain
from foldaway.agents.known import agent, agent_named, find_agent, known_agents
from foldaway.agents.known.agent import AgentPlace, CompactionSection, FilesSection, read_agent
from foldaway.errors import NotReadable, UnknownName
from foldaway.sessions.tools import TOOLS, past_tools

DOCS = Path(__file__).resolve().parents[3] / "docs" / "agents"


def test_every_file_is_read_as_it_is_written() -> None:
    """All keys are known, and the name of the agent is that of its file."""
    assert all(one.name == name and one.title for name, one in known_agents().items())


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('title = "X"\nstrat = 1', "`strat`"),
        ('title = "X"\n[start]\nadresses = {}', "$.start"),
        ('title = "X"\n[hooks.events.A]\ndoes = "sing"', "$.hooks.events[...].does"),
        ('title = "X"\n[[files.places]]\nfolder = "x"', "$.files.places[0]"),
        ('title = "X"\n[[compaction.signs]]\nword = "x"', "$.compaction.signs[0]"),
        ('program = "x"', "`title`"),
        ('title = "X"\n[start', "end of document"),
    ],
)
def test_an_unknown_key_is_an_error_with_its_place(text: str, place: str, tmp_path: Path) -> None:
    """And so is a value of the wrong kind."""
    file = tmp_path / "x.toml"
    file.write_text(text)
    with pytest.raises(NotReadable, match=re.escape(place)) as refusal:
        read_agent(file)
    assert str(file) in str(refusal.value)


def test_every_field_is_explained() -> None:
    """Whoever adds an agent reads what its file may have."""
    text = (Path(agent.__file__).with_name("README.md")).read_text()
    values = [
        one for one in vars(agent).values() if isinstance(one, type) and issubclass(one, Struct)
    ]
    fields = {name for one in values if issubclass(one, Struct)
              for name in one.__struct_fields__}  # fmt: skip
    assert {name for name in fields if f"- `{name}`" not in text} == set()


def test_every_agent_with_a_page_has_a_file() -> None:
    """Under the name that the page has."""
    pages = {file.stem for file in DOCS.glob("*.md")} - {"hooks"}
    names = {name.replace("qwen-code", "qwen") for name in known_agents()}
    assert pages <= names, pages - names


def test_every_agent_is_of_use_to_a_surface() -> None:
    """Its sessions are read, it is started, or something is installed into it."""
    for name, one in known_agents().items():
        assert one.leaves_sessions or one.start.install or one.install.file, name


def test_a_search_names_every_agent_whose_sessions_are_read() -> None:
    """An agent is one file here; the tools for models are not edited for it."""
    agents = [name for name, one in known_agents().items() if one.leaves_sessions]
    assert {"claude-code", "swe-agent"} <= set(agents)
    assert "cursor" not in agents  # we install ourselves into it, and read nothing of it
    search, *others = past_tools(agents)
    plain = TOOLS[0].parameters["properties"]["source"]["enum"]
    assert search.parameters["properties"]["source"]["enum"] == [*agents, *plain]
    assert others == list(TOOLS[1:])


def test_no_two_agents_share_a_word_or_a_place_in_the_list() -> None:
    """Which of them sent a request does not depend on the order of their names."""
    words = [word for one in known_agents().values() for word in one.identity.words]
    assert not [(a, b) for a in words for b in words if a != b and a in b]
    orders = [one.order for one in known_agents().values() if one.start.install]
    assert len(set(orders)) == len(orders)


def test_a_name_that_nobody_has_is_refused_or_has_the_usual() -> None:
    """A format of files keeps sessions too, and is no agent."""
    for name in ("emacs", "../known/pi", ""):
        with pytest.raises(UnknownName, match="claude-code, claude-desktop"):
            agent_named(name)
        assert find_agent(name).compaction == CompactionSection()
        assert find_agent(name).files == FilesSection()


@pytest.mark.parametrize(
    ("place", "path"),
    [
        (AgentPlace(file="~/.x/a/b"), "/h/.x/a/b"),
        (AgentPlace(file="{config}/x"), "/h/.config/x"),
        (AgentPlace(file="{data}/x"), "/d/x"),
        (AgentPlace(file="~/.x/a/b", variable="X"), "/x/a/b"),
        (AgentPlace(file="~/.x/a/b", variable="X", depth=2), "/x/b"),
        (AgentPlace(file="~/.x.json", variable="X", depth=0), "/x/.x.json"),
        (AgentPlace(file="~/.x/a", variable="NOT_SET"), "/h/.x/a"),
        (AgentPlace(file=".x/a"), ".x/a"),
    ],
)
def test_a_place_is_where_the_agent_itself_looks(place: AgentPlace, path: str) -> None:
    """A variable stands for the first parts of it."""
    found = place.path({"HOME": "/h", "XDG_DATA_HOME": "/d", "X": "/x", "PATH": ""})
    assert str(found) == path


def test_the_prompt_of_an_agent_says_whose_plain_messages_these_are() -> None:
    """A file of messages names nobody."""
    for name, one in known_agents().items():
        if prompt := one.files.prompt:
            messages = [{"role": "user", "content": f"x {prompt} y"}]
            (session,) = plain.read(messages, "x.json", "")
            assert session.agent == name
