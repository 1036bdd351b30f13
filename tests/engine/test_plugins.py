"""Engines by name: ours, and what other packages register."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.engine.compressor import Compressor
from holdfast.engine.plugins import GROUP, engine_named, reducer_named
from holdfast.errors import UnknownName

ENGINE = """
from holdfast.engine.contract import ContextEngine

class Quiet(ContextEngine):
    def __init__(self, **settings):
        self.settings = settings
    @property
    def name(self):
        return "quiet"
    def update_from_response(self, usage): ...
    def should_compress(self, prompt_tokens=None):
        return False
    def compress(self, messages, current_tokens=None, focus_topic=None, *, force=False):
        return list(messages)
"""


def test_our_own_engine_takes_its_settings() -> None:
    """By name, without any package."""
    made = engine_named("compressor", context_length=9_000)
    assert isinstance(made, Compressor)
    assert made.context_length == 9_000


def test_an_unknown_engine_is_refused_with_the_known_ones() -> None:
    """The message names them."""
    with pytest.raises(UnknownName, match="compressor"):
        engine_named("nobody")


def test_an_engine_of_another_package_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Registered under the entry-point group, chosen by name, made with the settings; what the
    contract gives for free works."""
    (tmp_path / "quiet_engine.py").write_text(ENGINE)
    info = tmp_path / "quiet_engine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: quiet-engine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\nquiet = quiet_engine:Quiet\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    made: Any = engine_named("quiet", colour="red")
    assert made.name == "quiet"
    assert made.settings == {"colour": "red"}
    assert made.compress([{"role": "user", "content": "x"}]) == [{"role": "user", "content": "x"}]
    made.on_session_start("s")
    made.update_model("m", 5_000)
    assert made.get_status()["context_length"] == 5_000
    assert made.get_tool_schemas() == []
    sys.modules.pop("quiet_engine", None)


def test_an_unknown_reducer_is_refused() -> None:
    """No reducer comes with Holdfast under this group."""
    with pytest.raises(UnknownName, match="no-such-reducer"):
        reducer_named("no-such-reducer")
