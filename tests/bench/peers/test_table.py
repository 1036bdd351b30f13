"""The table of peers, and what must keep step with it."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest
from tests.testing.rows import each_row

from foldaway.errors import UnknownName

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench"))

import peers
from peers.ask import Peers
from peers.table import MODES, PEERS, Peer
from peers.worker import Failure, Request

WORKERS = Path(peers.__file__).parent / "workers"
PAGE = Path(__file__).resolve().parents[3] / "bench" / "notes" / "lab-peers.md"
REQUEST = Request(messages=[], budget_tokens=1, context_length=10)


@each_row("peer", PEERS.values(), ids=PEERS)
def test_every_version_is_pinned(peer: Peer) -> None:
    """A figure is of one release."""
    assert all(re.fullmatch(r"[a-z-]+==[\d.]+", wanted) for wanted in peer.requirements)


def test_every_peer_has_its_worker_and_every_worker_its_peer() -> None:
    """The file is found by the name."""
    drivers = {path.stem.removeprefix("drive_") for path in WORKERS.glob("drive_*.py")}
    assert drivers == set(PEERS)


@each_row("path", sorted(WORKERS.glob("*.py")), ids=lambda path: path.stem)
def test_a_worker_imports_nothing_of_foldaway(path: Path) -> None:
    """It runs where Foldaway is not installed; the loop has the standard library alone."""
    roots: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            roots |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level
            roots.add(str(node.module).partition(".")[0])
    assert "foldaway" not in roots
    if path.stem == "loop":
        assert roots <= sys.stdlib_module_names


def test_the_page_names_every_peer_version_and_mode() -> None:
    """What is documented is what runs."""
    page = PAGE.read_text()
    for peer in PEERS.values():
        assert all(f"`{wanted}`" in page for wanted in peer.requirements)
        assert peer.licence in page
    assert all(f"`{name}`" in page for name in MODES)


def test_a_name_that_is_no_peer_is_told(tmp_path: Path) -> None:
    """With the names that are."""
    with pytest.raises(UnknownName, match="hermes:stub"):
        Peers(tmp_path).compress("hermes", REQUEST, len)


def test_a_peer_that_cannot_be_installed_is_a_failure_each_time(tmp_path: Path) -> None:
    """The table says so for every session, and pip is not run for each."""
    (tmp_path / "hermes").touch()
    made = Peers(tmp_path)
    assert made.install("hermes:stub") is not None
    first = made.compress("hermes:stub", REQUEST, len)
    assert isinstance(first, Failure)
    assert "could not be installed" in first.error
    assert made.compress("hermes:fallback", REQUEST, len) is first
