"""A venv for a package that Holdfast does not depend on."""

from __future__ import annotations

import os
import subprocess
import venv
from collections.abc import Callable
from pathlib import Path

from holdfast.lab.peers.protocol import Failure

_STAMP = "installed.txt"
_INSTALL_SECONDS = 1_800.0


def interpreter(
    folder: Path, requirements: tuple[str, ...], tell: Callable[[str], None] = lambda _: None
) -> Path | Failure:
    """Return the absolute path of the Python of the venv in `folder` with these requirements.

    It is made where it is missing or has others; `tell` hears of that first, for it takes minutes.
    Two processes must not do so at once in one folder: install before going parallel.
    """
    folder = folder.absolute()  # a worker runs in a folder of its own
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp, wanted = folder / _STAMP, "\n".join(requirements)
    try:
        if python.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
            return python
        if not python.exists() and _holds_something_else(folder):
            return _failed(requirements, f"{folder} holds something else; give another folder")
        tell(f"installing {', '.join(requirements)} into {folder}")
        stamp.unlink(missing_ok=True)
        if not python.exists():
            venv.create(folder, clear=True, with_pip=True)
        line = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run(
            [*line, *requirements], capture_output=True, text=True, errors="replace",
            check=False, timeout=_INSTALL_SECONDS,
        )  # fmt: skip
        if done.returncode:
            return _failed(requirements, _last_line(done.stderr))
        stamp.write_text(wanted, encoding="utf-8")
    except (OSError, subprocess.SubprocessError) as error:
        return _failed(requirements, f"{type(error).__name__}: {error}")
    return python


def _holds_something_else(folder: Path) -> bool:
    """Return whether there is anything in the folder, and no venv: it is not ours to clear."""
    return folder.is_dir() and any(folder.iterdir()) and not (folder / "pyvenv.cfg").exists()


def _failed(requirements: tuple[str, ...], reason: str) -> Failure:
    return Failure("not installed", f"{' '.join(requirements)} could not be installed: {reason}")


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "pip said nothing"
