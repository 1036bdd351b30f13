"""The strict stub provider, if the toolkit is here."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _loaded(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


runner = _loaded("frameworks_run", ROOT / "tests" / "frameworks" / "run.py")


@pytest.fixture
def stub(tmp_path: Path) -> Iterator[Any]:
    """Yield the provider."""
    if not (runner.TOOLKIT / "provider.py").exists():
        pytest.skip("no stub provider here: FOLDAWAY_AGENTS names its folder")
    with runner.stub(tmp_path / "log") as provider:
        yield provider
