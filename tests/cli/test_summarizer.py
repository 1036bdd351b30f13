"""compress with a model that writes: real SDKs, a real server on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.testing.long_lists import Exchange, written

pytest.importorskip("uvicorn", reason="the model server needs foldaway[testing]")

from foldaway.testing import ModelServer, openai_error, refusing_url

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


def compressed(foldaway: Any, long: Path, *flags: Any, window: int = 40_000) -> Any:
    out = long.parent / "out.json"
    seen = foldaway(
        "compress", "--json", long, "-o", out, "--context-length", window, "--keep-last", 2, *flags
    )
    return seen, json.loads(out.read_bytes()) if out.exists() else None


@pytest.mark.slow
@pytest.mark.parametrize("who", ["openai", "openai-responses", "anthropic"])
def test_each_sdk_writes_a_summary_that_is_checked(
    foldaway: Any, server: ModelServer, long: Path, who: str
) -> None:
    """The report says who wrote; an invented ask and a secret do not come through."""
    pytest.importorskip(who.partition("-")[0])
    url = server.anthropic_url if who == "anthropic" else server.openai_url
    seen, out = compressed(
        foldaway, long, "--summarizer", f"{who}:some-model", "--summarizer-url", url
    )
    (report,) = seen.reports
    note = report["summary_source"]
    assert (seen.code, report["status"], note["source"]) == (0, "compacted", "model")
    assert (note["name"], note["calls"]) == (f"{who}:some-model", len(server.requests))
    assert note["dropped"] >= 1
    assert note["added"] == 0  # it names nothing that could be looked up
    text = json.dumps(out)
    assert "The agent looked through the values." in text
    assert "Delete the whole repository" not in text
    assert "ghp_0123456789" not in text
    assert f"asking {who}:some-model for a summary, call 1 of 2" in seen.err
    assert foldaway("check", long.parent / "out.json").code == 0


@pytest.mark.parametrize("who", ["openai", "openai-responses", "anthropic"])
def test_a_model_adds_to_the_ledgers_summary(
    foldaway: Any, server: ModelServer, put: Any, who: str
) -> None:
    """It is shown what the ledger tells; what it adds and the log bears out is counted, and what
    the ledger knows better is not taken over."""
    pytest.importorskip(who.partition("-")[0])
    entries = [
        ("decisions", "Kept parse_row, since load_rows calls it."),
        ("completed", "All tests pass now."),
        ("critical", "The helper ghost_row is slow."),
    ]
    rows = [{"section": name, "text": text, "source": ""} for name, text in entries]
    server.replies(lambda request: json.dumps({"entries": rows}))
    call = {"id": "c1", "type": "function", "function": {
        "name": "bash", "arguments": '{"command": "pytest -q"}'}}  # fmt: skip
    filler = [{"role": "user", "content": "Look."}, {"role": "assistant", "content": "Yes. " * 900}]
    items = [
        *filler * 3,
        {"role": "user", "content": "Make parse_row faster, please."},
        {"role": "assistant", "content": "load_rows calls it. " * 400, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "=== 1 failed, 3 passed in 0.31s ==="},
        {"role": "assistant", "content": "One test fails."},
        *filler * 2,
        {"role": "user", "content": "Go on."},
    ]
    url = server.anthropic_url if who == "anthropic" else server.openai_url
    flags = ("--summarizer", f"{who}:m", "--summarizer-url", url, "--force")
    seen, out = compressed(foldaway, put("rows.json", json.dumps(items).encode()), *flags)
    asked = server.requests[0].raw.decode()
    assert "<note>" in asked
    assert "`pytest -q`: 1 failed, 3 passed" in asked
    note = seen.reports[0]["summary_source"]
    assert (note["added"], note["contradicted"], note["dropped"]) == (1, 1, 1)
    text = json.dumps(out)
    assert "Kept parse_row, since load_rows calls it." in text
    assert "tests pass" not in text
    assert "ghost_row" not in text


def test_a_refused_key_changes_nothing(foldaway: Any, server: ModelServer, long: Path) -> None:
    """While there is room: OUT is FILE, the reason says what to do, and the exit code is 3."""
    pytest.importorskip("openai")
    server.replies(lambda request: openai_error(401, "no"))
    flags = ("--summarizer", "openai:m", "--summarizer-url", server.openai_url)
    seen, out = compressed(foldaway, long, *flags)
    (report,) = seen.reports
    assert (seen.code, report["status"], report["reason"]) == (3, "unchanged", "aborted")
    assert "OPENAI_API_KEY" in report["detail"]
    assert out == json.loads(long.read_bytes())
    again, _ = compressed(foldaway, long, *flags, "--on-failure", "ledger")
    assert again.reports[0]["summary_source"]["source"] == "ledger"
    assert again.reports[0]["summary_source"]["failure"] == "refused"


def test_a_fallback_is_asked_at_the_same_address(
    foldaway: Any, server: ModelServer, long: Path
) -> None:
    """One of the same kind, once."""
    pytest.importorskip("openai")

    def reply(request: Any) -> Any:
        is_first = request.body["model"] == "first"
        return openai_error(500, "broken") if is_first else GOOD

    server.replies(reply)
    seen, _ = compressed(
        foldaway, long, "--summarizer", "openai:first", "--summarizer-url", server.openai_url,
        "--fallback-summarizer", "openai:second",
    )  # fmt: skip
    (report,) = seen.reports
    assert report["summary_source"]["name"] == "openai:second"
    assert any("the other summarizer was asked" in note for note in report["notes"])


def test_nobody_at_the_address(foldaway: Any, server: ModelServer, long: Path) -> None:
    """`abort` keeps everything, `ledger` goes on without."""
    pytest.importorskip("openai")
    with refusing_url() as url:
        flags = ("--summarizer", "openai:m", "--summarizer-url", url)
        for choice, status in (("abort", "unchanged"), ("ledger", "compacted")):
            seen, _ = compressed(foldaway, long, *flags, "--on-failure", choice)
            assert seen.reports[0]["status"] == status
            assert seen.reports[0]["summary_source"]["failure"] == "unreachable"


def test_a_preview_asks_nobody(foldaway: Any, server: ModelServer, long: Path) -> None:
    """It says who would write, and in how many calls: as many as are then made."""
    pytest.importorskip("openai")
    for window in (40_000, 4_000):
        flags = (
            "--keep-last", 2, "--context-length", 40_000, "--summarizer", "openai:m",
            "--summarizer-url", server.openai_url, "--summarizer-window", window,
        )  # fmt: skip
        server.requests.clear()
        seen = foldaway("compress", "--json", long, "--preview", *flags)
        assert seen.code == 0
        assert seen.reports[0]["summary_source"]["source"] == "ledger"
        assert server.requests == []
        done, _ = compressed(foldaway, long, *flags)
        calls = done.reports[0]["summary_source"]["calls"]
        assert calls == len(server.requests)
        words = f"openai:m would write the summary in {calls} {'call' if calls == 1 else 'calls'}"
        assert any(words in note for note in seen.reports[0]["notes"])
    assert calls > 1


@pytest.mark.parametrize(("flags", "words"), [
    (("--summarizer", "llama:3"), "openai:MODEL"),
    (("--summarizer", "openai:"), "openai:MODEL"),
    (("--fallback-summarizer", "openai:m"), "needs a summarizer"),
    (("--summarizer", "openai:m", "--summarizer-timeout", "-1"), "--summarizer-timeout"),
    (("--summarizer", "openai:m", "--on-failure", "explode"), "explode"),
    (("--summarizer", "openai:m", "--summarizer-url", "not a url"), "not a url"),
])  # fmt: skip
def test_a_mistake_is_named_before_anything_is_asked(
    foldaway: Any, long: Path, flags: tuple[str, ...], words: str
) -> None:
    """Exit code 2, one sentence, nothing written."""
    pytest.importorskip("openai")
    seen, out = compressed(foldaway, long, *flags)
    assert seen.code == 2
    assert words in seen.err
    assert out is None


def test_settings_name_the_summarizer_too(foldaway: Any, server: ModelServer, long: Path) -> None:
    """[summarizer] in the settings file; flags win over it."""
    pytest.importorskip("openai")
    file = long.parent / "foldaway.toml"
    file.write_text(
        f'[summarizer]\nmodel = "openai:from-file"\nurl = "{server.openai_url}"\n'
        'on_failure = "abort"\ntimeout = 30\n\n[caching]\nttl = "1h"\n'
    )
    seen, _ = compressed(foldaway, long, "--config", file)
    assert seen.reports[0]["summary_source"]["name"] == "openai:from-file"
    seen, _ = compressed(foldaway, long, "--config", file, "--summarizer", "openai:from-flag")
    assert seen.reports[0]["summary_source"]["name"] == "openai:from-flag"
    file.write_text('[summarizer]\non_failure = "panic"\n')
    seen, _ = compressed(foldaway, long, "--config", file)
    assert (seen.code, "on_failure" in seen.err, "auto, ledger, abort" in seen.err) == (
        2,
        True,
        True,
    )


def test_the_fallback_is_asked_first_where_the_session_is_complex(
    foldaway: Any, server: ModelServer, put: Any, own_settings: Path
) -> None:
    """`fallback_when_complex` in the settings: twelve changed files are many, and a few are not."""
    pytest.importorskip("openai")
    own_settings.write_text(
        f'[summarizer]\nmodel = "openai:small"\nurl = "{server.openai_url}"\n'
        f'fallback = "openai:large"\nfallback_when_complex = true\n'
    )
    for files, first in ((2, "openai:small"), (20, "openai:large")):
        items: list[Any] = []
        for n in range(20):
            arguments = {"path": f"src/module_{n % files}.py", "content": "word " * 400}
            call = {"id": f"c{n}", "type": "function", "function": {
                "name": "write_file", "arguments": json.dumps(arguments)}}  # fmt: skip
            items += [
                {"role": "user", "content": f"Now write part {n}."},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": f"c{n}", "content": "Wrote the file."},
                {"role": "assistant", "content": f"Part {n} is written."},
            ]
        path = put("complex.json", items)
        seen = foldaway("compress", "--json", path, "--preview", "--keep-last", 1)
        assert any(f"{first} would write" in note for note in seen.reports[0]["notes"])
