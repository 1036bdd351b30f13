"""What a project says to agents."""

from __future__ import annotations

import os
from pathlib import Path

from foldaway.memory.files.provider import read_knowledge


def found(folder: Path) -> list[tuple[str, str]]:
    return [(one.name, one.text) for one in read_knowledge(folder)]


def test_files_are_found_up_to_the_root_of_the_repository(tmp_path: Path) -> None:
    """The root's first, nothing from above it."""
    inner = tmp_path / "repo" / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "AGENTS.md").write_text("above")
    (tmp_path / "repo" / ".git").mkdir()
    (tmp_path / "repo" / "AGENTS.md").write_text("\ufeffof the root")
    (inner.parent / "CLAUDE.md").write_text("of a")
    (inner / "AGENTS.md").write_text("of b")
    assert found(inner) == [
        ("AGENTS.md", "of the root"), ("a/CLAUDE.md", "of a"), ("a/b/AGENTS.md", "of b"),
    ]  # fmt: skip


def test_without_a_repository_only_the_folder_counts(tmp_path: Path) -> None:
    """Nobody's home folder speaks for a project."""
    (tmp_path / "AGENTS.md").write_text("above")
    (tmp_path / "a").mkdir()
    assert found(tmp_path / "a") == []
    assert found(tmp_path) == [("AGENTS.md", "above")]
    assert found(tmp_path / "missing" / "deep") == []


def test_a_text_counts_once_and_what_cannot_be_read_does_not(tmp_path: Path) -> None:
    """CLAUDE.md is often a link to AGENTS.md; a pipe keeps nobody waiting."""
    (tmp_path / ".git").write_text("gitdir: elsewhere")
    (tmp_path / "AGENTS.md").write_text("same")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    inner = tmp_path / "a"
    inner.mkdir()
    os.mkfifo(inner / "AGENTS.md")
    (inner / "CLAUDE.md").mkdir()
    assert found(inner) == [("AGENTS.md", "same")]
