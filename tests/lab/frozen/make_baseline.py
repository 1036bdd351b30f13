"""Make baseline.json again: `python tests/lab/frozen/make_baseline.py`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from foldaway.cli import run

HERE = Path(__file__).resolve().parent


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        code = run(
            ["lab", "run", str(HERE / "sessions.jsonl.gz"), "-o", folder, "--budgets", "20",
             "--strategies", "foldaway"]
        )  # fmt: skip
        if code == 0:
            shutil.copy(Path(folder) / "summary.json", HERE / "baseline.json")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
