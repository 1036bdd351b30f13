"""`reuse_prompt_cache` under [summarizer]: the main model is asked after what it has read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.testing.long_lists import Exchange, written

pytest.importorskip("uvicorn", reason="the model server needs foldaway[testing]")
pytest.importorskip("anthropic")

from foldaway.testing import ModelServer

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_folder")]
GOOD = json.dumps({"completed": [{"text": "The agent looked through the values.", "source": ""}]})
FIELDS = {
    "model": "claude-x", "max_tokens": 900, "system": "Be brief.",
    "thinking": {"type": "enabled", "budget_tokens": 1024}, "tool_choice": {"type": "auto"},
    "tools": [{"name": "bash", "input_schema": {"type": "object"}}],
}  # fmt: skip


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-test")
    with ModelServer(GOOD) as running:
        yield running


@pytest.fixture
def request_file(put: Any) -> Path:
    return put("main.json", {**FIELDS, "messages": written("anthropic", [Exchange(2, 2, 900)] * 8)})


def settings(file: Path, who: str, server: ModelServer) -> None:
    url = server.anthropic_url if who.startswith("anthropic") else server.openai_url
    file.write_text(f'[summarizer]\nmodel = "{who}"\nurl = "{url}"\nreuse_prompt_cache = true\n')


def test_a_request_is_followed_by_the_question(
    foldaway: Any, server: ModelServer, request_file: Path, tmp_path: Path, own_settings: Path
) -> None:
    """A whole request body goes out again as it is, with one user message behind it."""
    settings(own_settings, "anthropic:claude-x", server)
    out = tmp_path / "out.json"
    seen = foldaway("compress", "--json", request_file, "-o", out, "--context-length", 16_000)
    assert (seen.code, seen.reports[0]["summary_source"]["source"]) == (0, "model")
    (sent,) = (request.body for request in server.requests)
    given = json.loads(request_file.read_bytes())
    assert sent["messages"][:-1] == given["messages"]
    for name in ("model", "system", "thinking", "tool_choice", "tools"):
        assert sent[name] == given[name]


@pytest.mark.parametrize(("who", "flags", "words"), [
    ("anthropic:claude-y", (), "'anthropic:claude-y') is not the main model ('claude-x')"),
    ("anthropic:claude-x", ("--model", "other"), "is not the main model ('other')"),
    ("openai:claude-x", (), "the conversation is 'anthropic'"),
])  # fmt: skip
def test_a_prefix_that_is_not_its_own_is_a_mistake(
    foldaway: Any, server: ModelServer, request_file: Path, tmp_path: Path,
    own_settings: Path, who: str, flags: tuple[str, ...], words: str,
) -> None:  # fmt: skip
    """One sentence, exit code 2, nobody is asked, nothing is written."""
    pytest.importorskip("openai")
    settings(own_settings, who, server)
    out = tmp_path / "out.json"
    seen = foldaway("compress", request_file, "-o", out, "--context-length", 16_000, *flags)
    assert (seen.code, seen.out) == (2, b"")
    assert "cannot reuse the prompt cache: " in seen.err
    assert words in " ".join(seen.err.split())
    assert not out.exists()
    assert server.requests == []


def test_a_bare_list_needs_the_name_of_its_model(
    foldaway: Any, server: ModelServer, put: Any, tmp_path: Path, own_settings: Path
) -> None:
    """Nothing else tells whose cache it is in."""
    settings(own_settings, "anthropic:claude-x", server)
    items = put("bare.json", written("anthropic", [Exchange(2, 2, 900)] * 8))
    flags = ("--context-length", 16_000, "--dialect", "anthropic", "-o", tmp_path / "out.json")
    seen = foldaway("compress", items, *flags)
    assert seen.code == 2
    assert "the main model is unknown; pass --model" in seen.err
    seen = foldaway("compress", "--json", items, *flags, "--model", "claude-x")
    assert (seen.code, seen.reports[0]["summary_source"]["source"]) == (0, "model")
