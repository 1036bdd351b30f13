"""Engines by name: ours, and what other packages register."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from foldaway import open_engine, reduce
from foldaway._core.policy import Policy
from foldaway.agents.engines.hermes import GROUP, HermesEngine, engine_named
from foldaway.cli import run
from foldaway.config import read_settings
from foldaway.engine.reducing import REDUCERS_GROUP, find_reducer
from foldaway.errors import InvalidSetting, UnknownName

ENGINE = """
from foldaway.agents.engines.contract import ContextEngine

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


def install(folder: Path, name: str, source: str, entry_points: str) -> None:
    """Put a package into a folder, as an installer would."""
    (folder / f"{name}.py").write_text(source)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)


def test_our_own_engine_takes_its_settings() -> None:
    """By name, without any package."""
    made = engine_named("compressor", context_length=9_000)
    assert isinstance(made, HermesEngine)
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
    install(tmp_path, "quiet_engine", ENGINE, f"[{GROUP}]\nquiet = quiet_engine:Quiet\n")
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


def test_the_settings_choose_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`open_engine` makes the one that `[engine] name` names, with the model, window and policy
    of the same file; what the caller gives wins."""
    install(tmp_path, "quiet_engine", ENGINE, f"[{GROUP}]\nquiet = quiet_engine:Quiet\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / "foldaway.toml"
    rest = "[compression]\nprotect_last = 7\n[model]\nname = 'm'\ncontext_length = 9000\n"
    file.write_text(rest)
    ours = open_engine(environment={"FOLDAWAY_CONFIG": str(file)})
    assert isinstance(ours, HermesEngine)
    assert ours.context_length == 9_000
    file.write_text(f"{rest}[engine]\nname = 'quiet'\n")
    settings = read_settings(str(file), environment={})
    made: Any = open_engine(settings=settings, output_tokens=500)
    assert made.settings == {
        "model": "m", "context_length": 9_000, "output_tokens": 500,
        "policy": Policy(protect_last=7),
    }  # fmt: skip
    sys.modules.pop("quiet_engine", None)


def test_a_package_that_makes_no_engine_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that raises, one that makes something else, one that cannot be imported: a mistake of
    the settings, not a traceback of somebody's code."""
    source = "def failing(**settings): raise KeyError('k')\ndef other(**settings): return 3\n"
    lines = "failing = bad_engine:failing\nother = bad_engine:other\ngone = not_here_at_all:x\n"
    install(tmp_path, "bad_engine", source, f"[{GROUP}]\n{lines}")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, said in (
        ("failing", "KeyError"), ("other", "makes int"), ("gone", "ModuleNotFoundError"),
    ):  # fmt: skip
        with pytest.raises(InvalidSetting, match=f"engine.name.*{said}"):
            engine_named(name)
    sys.modules.pop("bad_engine", None)


def test_an_unknown_reducer_is_refused() -> None:
    """No reducer comes with Foldaway under this group."""
    with pytest.raises(UnknownName, match="no-such-reducer"):
        find_reducer("no-such-reducer")


def test_a_reducer_of_another_package_stands_in_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In Python and on the command line; one that breaks a law is passed over."""
    source = (
        "def first(text, kind, tokens): return text[:20]\ndef all(text, kind, tokens): return text"
    )
    install(
        tmp_path, "learned_reducer", source,
        f"[{REDUCERS_GROUP}]\nlearned = learned_reducer:first\nlazy = learned_reducer:all\n",
    )  # fmt: skip
    monkeypatch.syspath_prepend(str(tmp_path))
    text = "a line of some words\n" * 500
    assert reduce(text, budget_tokens=50, reducer="learned").text == text[:20]
    assert reduce(text, budget_tokens=50, reducer="lazy").tokens_after <= 50
    (tmp_path / "long.log").write_text(text)
    out = tmp_path / "short.log"
    asked = [str(tmp_path / "long.log"), "-o", str(out), "--tokens", "50"]
    assert run(["reduce", *asked, "--reducer", "learned"]) == 0
    assert out.read_text() == text[:20] + "\n"
    assert run(["reduce", *asked, "--reducer", "nobody"]) == 2
    sys.modules.pop("learned_reducer", None)
