"""External memories by name, and their settings."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from foldaway.config import external_memory, open_memory, open_store, read_settings
from foldaway.errors import FoldawayError, InvalidSetting, MissingExtra, UnknownName
from foldaway.memory.external.mcp import McpMemory
from foldaway.memory.external.registry import external_named
from foldaway.memory.manager import MemoryManager
from foldaway.memory.provider import MemoryProvider
from foldaway.sessions.session import Session

PLUGIN = """
from foldaway.memory.provider import MemoryProvider

class Theirs(MemoryProvider):
    name = "theirs"

def make(options, folder):
    found = Theirs()
    found.options, found.folder = options, folder
    return found

def nothing(options, folder):
    return options

def failing(options, folder):
    raise RuntimeError("key secret-1")
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[None]:
    """Install a package that registers two memories, one of which is none."""
    folder = tmp_path / "site"
    info = folder / "their_memory-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "their_memory.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-memory\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[foldaway.memory]\ntheirs = their_memory:make\nnothing = their_memory:nothing\n"
        "failing = their_memory:failing\nmissing = their_memory_that_is_not:make\n"
        "unnamed = their_memory:no_such\n"
    )
    sys.path.insert(0, str(folder))
    yield
    sys.path.remove(str(folder))
    sys.modules.pop("their_memory", None)


def settings_of(tmp_path: Path, text: str, **variables: str) -> Any:
    path = tmp_path / "foldaway.toml"
    path.write_text(text)
    return read_settings(str(path), environment=variables)


@pytest.mark.usefixtures("plugin")
def test_a_package_brings_its_memory_by_an_entry_point(tmp_path: Path) -> None:
    """It is made with its own table and a folder of the profile, and only where it is named."""
    text = '[memory]\nexternal = "theirs"\n[memory.theirs]\ndepth = 3\n[memory.other]\nx = 1\n'
    home = tmp_path / "home"
    found: Any = external_memory(
        settings_of(tmp_path, text), environment={"FOLDAWAY_HOME": str(home)}
    )
    assert isinstance(found, MemoryProvider)
    assert found.options == {"depth": 3}
    assert found.folder == home / "memory" / "default" / "theirs"
    assert not home.exists()
    assert external_memory(settings_of(tmp_path, "[memory.theirs]\ndepth = 3\n")) is None


@pytest.mark.usefixtures("plugin")
def test_an_unknown_name_is_told_the_known_ones(tmp_path: Path) -> None:
    """Ours and those of other packages, in one list; and what is no memory is not taken."""
    with pytest.raises(UnknownName) as caught:
        external_named("zep", {}, tmp_path)
    assert set(caught.value.known) >= {"mcp", "mem0", "nothing", "theirs"}
    assert list(caught.value.known) == sorted(caught.value.known)
    with pytest.raises(InvalidSetting, match="makes dict"):
        external_named("nothing", {}, tmp_path)


@pytest.mark.parametrize(
    ("name", "options"), [("mcp", {"command": "any"}), ("mem0", {"url": "http://any"})]
)
def test_a_missing_package_is_said_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, options: Mapping[str, Any]
) -> None:
    """At once, when the provider is made, and not in the middle of a turn."""
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra) as caught:
        external_named(name, options, tmp_path)
    assert caught.value.extra == name


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('[memory.mcp]\ncomand = "secret-x"\n', "unknown .*mcp.comand; did you mean command?"),
        ("[memory.mcp]\ncommand = 3\n", "memory.mcp.command .*must be str"),
        ('[memory.mcp]\ncommand = "a"\nargs = ["b", 1]\n', r"memory.mcp.args\[1\] .*must be str"),
        ("[memory.mcp]\n", "`command` or `url`"),
        ('[memory.mcp]\ncommand = "a"\nurl = "http://b"\n', "not both"),
        ('[memory.mcp]\nurl = "secret:3"\n', "memory.mcp.url"),
        ('[memory.mem0]\nembedder_url = "secret:3"\n', "memory.mem0.embedder_url"),
        ('[memory.mcp]\ncommand = "a"\ntimeout = 0\n', "memory.mcp.timeout is 0.0"),
        ('[memory.mcp]\ncommand = "a"\ntimeout = nan\n', "memory.mcp.timeout"),
        ("[memory.mem0]\nuser = 3\n", "memory.mem0.user .*must be str"),
        ("[memory.mem0]\nresults = 0\n", "memory.mem0.results is 0"),
        ('[memory.mem0]\nuser = " "\n', "memory.mem0.user"),
        ('[memory.mcp]\ncommand = "${GONE}"\n', "memory.mcp.command .*GONE is not set"),
        ("mcp = 3\n", "unknown setting memory.mcp;"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_one_sentence_with_its_place(
    tmp_path: Path, table: str, said: str
) -> None:
    """The key, what it may be, and never a value that may be a secret."""
    name = "mem0" if "mem0" in table else "mcp"
    text = f'[memory]\nexternal = "{name}"\n{table}'
    with pytest.raises(FoldawayError, match=said) as caught:
        external_memory(settings_of(tmp_path, text))
    assert "secret" not in str(caught.value)


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize(
    ("name", "error"),
    [("failing", "RuntimeError"), ("missing", "ModuleNotFound"), ("unnamed", "AttributeError")],
)
def test_a_package_that_fails_is_said_in_a_sentence(tmp_path: Path, name: str, error: str) -> None:
    """At its import or when it makes its memory; the kind of the error, never its text."""
    with pytest.raises(InvalidSetting, match=f"its package raises {error}") as caught:
        external_named(name, {}, tmp_path)
    assert "secret-1" not in str(caught.value)


def test_options_take_keys_from_the_environment(tmp_path: Path) -> None:
    """`${NAME}` in any text of a table, so that no key has to stand in a file."""
    text = (
        '[memory]\nexternal = "mcp"\n[memory.mcp]\nurl = "http://h/mcp"\n'
        'headers = {Authorization = "Bearer ${THE_KEY}"}\n'
    )
    found = settings_of(tmp_path, text, THE_KEY="k-1")
    assert found.memory_options["mcp"]["headers"] == {"Authorization": "Bearer k-1"}
    assert isinstance(external_memory(found, environment={"HOME": str(tmp_path)}), McpMemory)


@pytest.mark.usefixtures("plugin")
def test_one_call_opens_all_of_the_memory(tmp_path: Path) -> None:
    """The files of the profile, the project's, past sessions, and the external one by its name."""
    (tmp_path / "AGENTS.md").write_text("Run the linter first.")
    settings = settings_of(tmp_path, '[memory]\nexternal = "theirs"\n[sessions]\nprofile = "ann"\n')
    environment = {"FOLDAWAY_HOME": str(tmp_path / "home")}
    with (
        open_store(tmp_path / "sessions.db") as store,
        open_memory(
            store, project=tmp_path, settings=settings, environment=environment,
            reserved_tools=["memory"],
        ) as memory,
    ):  # fmt: skip
        session = Session(store)
        session.append({"role": "user", "content": "The kettle is red."})
        session.close()
        assert set(memory.status()) == {"files", "theirs"}
        assert memory.refused_tools == ("memory",)
        assert "Run the linter first." in memory.system_text()
        assert "The kettle is red." in memory.prefetch("Which colour has the kettle?").text
    with open_memory(settings=settings_of(tmp_path, ""), environment=environment) as memory:
        assert set(memory.status()) == {"files"}
        assert memory.prefetch("Which colour has the kettle?").text == ""


def test_a_template_of_the_host_is_a_setting(tmp_path: Path) -> None:
    """What it puts around the user's words is not asked about; a pattern has to be one."""
    asked: list[str] = []

    class Asked(MemoryProvider):
        name = "asked"

        def prefetch(self, query: str, session_id: str) -> str:
            asked.append(query)
            return ""

    text = "[memory]\ntemplate = '(?s)^## Skill.*?## Request\\n(?P<words>.*)'\n"
    settings = settings_of(tmp_path, text)
    templates = [re.compile(settings.memory_template)]
    with MemoryManager(Asked(), templates=templates) as manager:
        manager.prefetch("## Skill x\nbody\n## Request\nmend it")
    assert asked == ["mend it"]
    with open_memory(settings=settings, environment={"FOLDAWAY_HOME": str(tmp_path)}) as memory:
        assert memory.status()["files"]["failures"] == 0
    with pytest.raises(InvalidSetting, match=r"memory\.template"):
        settings_of(tmp_path, "[memory]\ntemplate = '(unclosed'\n")
