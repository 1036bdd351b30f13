"""A disk that is full, at every step of a write."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from foldaway.memory.files.memory_file import Limit, MemoryFile

pytestmark = pytest.mark.slow

LIMIT = Limit(chars=900_000, tokens=900_000)
SCRIPT = """
import resource, signal, sys
from pathlib import Path
from foldaway.errors import NotWritable
from foldaway.memory.files.memory_file import Limit, MemoryFile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
file = MemoryFile(Path(sys.argv[1]), Limit(chars=900_000, tokens=900_000))
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), hard))
try:
    file.add("does not fit " * 40, "tool")
except NotWritable as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
file.add("there is room again", "tool")
"""


def test_a_full_disk_leaves_the_file_and_its_history(tmp_path: Path) -> None:
    """Whether the new file or the line of the history does not fit; and it goes on afterwards."""
    refused = 0
    for number, size in enumerate((0, 300, 600, 5_000)):
        path = tmp_path / str(number) / "MEMORY.md"
        file = MemoryFile(path, LIMIT)
        file.add("was there", "tool")
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(path), str(size)],
            capture_output=True, text=True, env={"PYTHONPATH": ":".join(sys.path)}, check=True,
        )  # fmt: skip
        failed = "cannot be written (File too large); what was there is still there" in done.stdout
        refused += failed
        texts = [entry.text for entry in file.entries()]
        assert texts[0] == "was there"
        assert texts[-1] == "there is room again"
        assert len(texts) == (2 if failed else 3)
        numbers = [change.version.number for change in file.history()]
        assert numbers == list(range(1, len(texts) + 1))
        assert file.version(numbers[-1]) == file.text()
        names = {one.name for one in path.parent.iterdir()}
        assert not any(name.endswith(".new") for name in names)
    assert refused == 3
