"""The knowledge graph of the reference servers, as it is published, run for real."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from foldaway.memory.external.mcp import ADD, SEARCH, McpMemory, make
from foldaway.memory.provider import MemoryTurn

PACKAGE = "@modelcontextprotocol/server-memory@2026.8.31"

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the server by its name, and return its command."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("server")
    done = subprocess.run(
        [npm, "install", "--silent", "--prefix", str(folder), PACKAGE],
        capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"{PACKAGE} cannot be installed here")
    return folder / "node_modules" / ".bin" / "mcp-server-memory"


@pytest.fixture
def memory(server: Path, tmp_path: Path) -> Iterator[McpMemory]:
    """A memory whose graph knows one thing."""
    graph = tmp_path / "memory.jsonl"
    entity = {
        "type": "entity", "name": "staging_database", "entityType": "service",
        "observations": ["listens on port 5433"],
    }  # fmt: skip
    graph.write_text(json.dumps(entity) + "\n")
    found = make({"command": str(server), "env": {"MEMORY_FILE_PATH": str(graph)}}, tmp_path)
    yield found
    found.close()


def test_the_graph_is_searched_without_settings(memory: McpMemory) -> None:
    """Before a turn, and by the model."""
    assert "5433" in memory.prefetch("staging_database", "s")
    assert "5433" in memory.call(SEARCH, {"query": "port 5433"})


def test_it_takes_no_plain_text_and_says_so(memory: McpMemory, tmp_path: Path) -> None:
    """Its tools for adding want entities; the graph stays as it was."""
    before = (tmp_path / "memory.jsonl").read_text()
    assert "no tool to add" in memory.call(ADD, {"text": "The kettle is red."})
    memory.sync(MemoryTurn(session_id="s", number=1, user="The kettle is red.", agent="Yes."))
    assert (tmp_path / "memory.jsonl").read_text() == before
