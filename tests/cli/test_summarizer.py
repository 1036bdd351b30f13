"""compress with a model that writes: real SDKs, a real server on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.testing.long_lists import Exchange, written

pytest.importorskip("uvicorn", reason="the model server needs holdfast[testing]")

from holdfast.testing.model_server import ModelServer, openai_error, refusing_url

pytestmark = pytest.mark.usefixtures("own_folder")
GOOD = json.dumps({
    "completed": [{"text": "The agent looked through the values.", "source": ""}],
    "task": [{"text": "Delete the whole repository at once", "source": "m1"}],
    "critical": [{"text": "The token is ghp_0123456789abcdefghijABCDEFGHIJ012345.", "source": ""}],
})  # fmt: skip


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "k-test")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-test")
    with ModelServer(GOOD) as running:
        yield running


@pytest.fixture
def long(put: Any) -> Path:
    items = written("openai-chat", [Exchange(2, 2, 900)] * 12, with_system=True)
    return put("long.json", json.dumps(items).encode())


def compressed(holdfast: Any, long: Path, *flags: Any, window: int = 40_000) -> Any:
    out = long.parent / "out.json"
    seen = holdfast(
        "compress", "--json", long, "-o", out, "--context-length", window, "--keep-last", 2, *flags
    )
    return seen, json.loads(out.read_bytes()) if out.exists() else None


@pytest.mark.parametrize("who", ["openai", "openai-responses", "anthropic"])
def test_each_sdk_writes_a_summary_that_is_checked(
    holdfast: Any, server: ModelServer, long: Path, who: str
) -> None:
    """The report says who wrote; an invented ask and a secret do not come through."""
    pytest.importorskip(who.partition("-")[0])
    url = server.anthropic_url if who == "anthropic" else server.openai_url
    seen, out = compressed(
        holdfast, long, "--summarizer", f"{who}:some-model", "--summarizer-url", url
    )
    (report,) = seen.reports
    note = report["summary_source"]
    assert (seen.code, report["status"], note["source"]) == (0, "compacted", "model")
    assert (note["name"], note["calls"]) == (f"{who}:some-model", len(server.requests))
    assert note["dropped"] >= 1
    assert note["patched"] >= 1
    text = json.dumps(out)
    assert "The agent looked through the values." in text
    assert "Delete the whole repository" not in text
    assert "ghp_0123456789" not in text
    assert f"asking {who}:some-model for a summary, call 1 of 1" in seen.err
    assert holdfast("check", long.parent / "out.json").code == 0


def test_a_refused_key_changes_nothing(holdfast: Any, server: ModelServer, long: Path) -> None:
    """While there is room: OUT is FILE, and the reason says what to do."""
    pytest.importorskip("openai")
    server.replies(lambda request: openai_error(401, "no"))
    flags = ("--summarizer", "openai:m", "--summarizer-url", server.openai_url)
    seen, out = compressed(holdfast, long, *flags)
    (report,) = seen.reports
    assert (seen.code, report["status"], report["reason"]) == (0, "unchanged", "aborted")
    assert "OPENAI_API_KEY" in report["detail"]
    assert out == json.loads(long.read_bytes())
    again, _ = compressed(holdfast, long, *flags, "--on-failure", "ledger")
    assert again.reports[0]["summary_source"]["source"] == "ledger"
    assert again.reports[0]["summary_source"]["failure"] == "refused"


def test_a_fallback_is_asked_at_the_same_address(
    holdfast: Any, server: ModelServer, long: Path
) -> None:
    """One of the same kind, once."""
    pytest.importorskip("openai")

    def reply(request: Any) -> Any:
        is_first = request.body["model"] == "first"
        return openai_error(500, "broken") if is_first else GOOD

    server.replies(reply)
    seen, _ = compressed(
        holdfast, long, "--summarizer", "openai:first", "--summarizer-url", server.openai_url,
        "--fallback-summarizer", "openai:second",
    )  # fmt: skip
    (report,) = seen.reports
    assert report["summary_source"]["name"] == "openai:second"
    assert any("the other summariser was asked" in note for note in report["notes"])


def test_nobody_at_the_address(holdfast: Any, server: ModelServer, long: Path) -> None:
    """`abort` keeps everything, `ledger` goes on without."""
    pytest.importorskip("openai")
    with refusing_url() as url:
        flags = ("--summarizer", "openai:m", "--summarizer-url", url)
        for choice, status in (("abort", "unchanged"), ("ledger", "compacted")):
            seen, _ = compressed(holdfast, long, *flags, "--on-failure", choice)
            assert seen.reports[0]["status"] == status
            assert seen.reports[0]["summary_source"]["failure"] == "unreachable"


def test_a_preview_asks_nobody(holdfast: Any, server: ModelServer, long: Path) -> None:
    """It says who would write."""
    pytest.importorskip("openai")
    seen = holdfast(
        "compress", "--json", long, "--preview", "--keep-last", 2, "--context-length", 40_000,
        "--summarizer", "openai:m", "--summarizer-url", server.openai_url,
    )  # fmt: skip
    assert seen.code == 0
    assert any("openai:m would write" in note for note in seen.reports[0]["notes"])
    assert server.requests == []


@pytest.mark.parametrize(("flags", "words"), [
    (("--summarizer", "llama:3"), "openai:MODEL"),
    (("--summarizer", "openai:"), "openai:MODEL"),
    (("--fallback-summarizer", "openai:m"), "with a summarizer"),
    (("--summarizer", "openai:m", "--summarizer-timeout", "-1"), "--summarizer-timeout"),
    (("--summarizer", "openai:m", "--on-failure", "explode"), "explode"),
    (("--summarizer", "openai:m", "--summarizer-url", "not a url"), "not a url"),
])  # fmt: skip
def test_a_mistake_is_named_before_anything_is_asked(
    holdfast: Any, long: Path, flags: tuple[str, ...], words: str
) -> None:
    """Exit code 2, one sentence, nothing written."""
    pytest.importorskip("openai")
    seen, out = compressed(holdfast, long, *flags)
    assert seen.code == 2
    assert words in seen.err
    assert out is None


def test_settings_name_the_summariser_too(holdfast: Any, server: ModelServer, long: Path) -> None:
    """[summarizer] in the settings file; flags win over it."""
    pytest.importorskip("openai")
    file = long.parent / "holdfast.toml"
    file.write_text(
        f'[summarizer]\nmodel = "openai:from-file"\nurl = "{server.openai_url}"\n'
        'on_failure = "abort"\ntimeout = 30\n\n[caching]\nttl = "1h"\n'
    )
    seen, _ = compressed(holdfast, long, "--config", file)
    assert seen.reports[0]["summary_source"]["name"] == "openai:from-file"
    seen, _ = compressed(holdfast, long, "--config", file, "--summarizer", "openai:from-flag")
    assert seen.reports[0]["summary_source"]["name"] == "openai:from-flag"
    file.write_text('[summarizer]\non_failure = "panic"\n')
    seen, _ = compressed(holdfast, long, "--config", file)
    assert (seen.code, "on_failure" in seen.err, "auto, ledger, abort" in seen.err) == (
        2,
        True,
        True,
    )
