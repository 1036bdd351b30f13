"""What a cloned project can put into a prompt: its own files, and nothing else of the machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from foldaway.memory.files.provider import OUTSIDE, FilesProvider, Knowledge, read_knowledge
from foldaway.memory.files.shared_file import MOST_BYTES

SECRET = "the combination is 11-22-33"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    (made / ".git").mkdir(parents=True)
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "CLAUDE.md").write_text(SECRET)
    return made


@pytest.mark.parametrize("target", ["../private/CLAUDE.md", "{root}/private/CLAUDE.md", "docs/up"])
def test_a_link_out_of_the_project_is_not_read(project: Path, target: str, tmp_path: Path) -> None:
    """Relative, absolute, or through a link inside; that it is so stands in the prompt."""
    (project / "docs").mkdir()
    (project / "docs" / "up").symlink_to("../../private/CLAUDE.md")
    (project / "CLAUDE.md").symlink_to(target.format(root=tmp_path))
    assert read_knowledge(project) == (Knowledge("CLAUDE.md", OUTSIDE),)
    text = FilesProvider(tmp_path / "memory", project=project).system_text()
    assert SECRET not in text
    assert OUTSIDE in text


def test_a_folder_that_links_out_of_the_project_is_not_read(project: Path) -> None:
    """The file itself is no link then."""
    (project / "CLAUDE.md").write_text("Use tabs.")
    (project / "vendor").symlink_to("../private")
    assert read_knowledge(project / "vendor") == (
        Knowledge("CLAUDE.md", "Use tabs."), Knowledge("vendor/CLAUDE.md", OUTSIDE),
    )  # fmt: skip


def test_a_link_within_the_project_is_read(project: Path, tmp_path: Path) -> None:
    """Also where the project itself is reached through a link."""
    (project / "docs").mkdir()
    (project / "docs" / "rules.md").write_text("Use tabs.")
    (project / "CLAUDE.md").symlink_to("docs/rules.md")
    (tmp_path / "work").symlink_to(project)
    for folder in (project, tmp_path / "work", project / "docs"):
        assert read_knowledge(folder) == (Knowledge("CLAUDE.md", "Use tabs."),)


def test_a_broken_link_and_a_ring_of_links_are_nothing(project: Path) -> None:
    """Neither is an error."""
    (project / "CLAUDE.md").symlink_to("missing.md")
    (project / "AGENTS.md").symlink_to("AGENTS.md")
    assert read_knowledge(project) == ()


def test_special_files_keep_nobody_waiting_and_long_ones_are_cut(project: Path) -> None:
    """A pipe that nobody writes to, a link to a device, a file without an end."""
    os.mkfifo(project / "AGENTS.md")
    (project / "CLAUDE.md").symlink_to("/dev/zero")
    assert read_knowledge(project) == (Knowledge("CLAUDE.md", OUTSIDE),)
    (project / "CLAUDE.md").unlink()
    with (project / "CLAUDE.md").open("wb") as file:
        file.write(b"rules")
        file.truncate(1 << 33)
    [found] = read_knowledge(project)
    assert len(found.text) == MOST_BYTES
