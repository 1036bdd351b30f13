"""Summarisers by name, and what naming one costs."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from tests.testing.long_lists import Exchange, written
from tests.testing.rows import each_row

import foldaway
from foldaway._core.policy import Policy
from foldaway._core.ports import SummaryRequest
from foldaway.errors import InvalidSetting, MissingExtra, UnknownName
from foldaway.summarizers.models import summarizer_named
from foldaway.summarizers.models.sdk import demand
from foldaway.summarizers.writers import writers_of
from foldaway.testing import ModelRequest, ModelServer, Reply, Says, Sends

KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


def test_none_is_no_summarizer() -> None:
    """The ledger writes alone."""
    assert summarizer_named("none") is None


def test_a_kind_that_does_not_exist_names_those_that_do() -> None:
    """The remedy is in the error."""
    with pytest.raises(UnknownName) as caught:
        summarizer_named("gpt:x")
    assert "openai:MODEL" in caught.value.known


@each_row("spec", ["openai", "openai:", "anthropic: ", "litellm:"])
def test_a_kind_without_a_model_is_not_enough(spec: str) -> None:
    """Which model writes is not guessed."""
    with pytest.raises(InvalidSetting):
        summarizer_named(spec)


def test_an_address_that_is_none_is_found_at_once(api: Any) -> None:
    """Not when the session is full."""
    with pytest.raises(InvalidSetting):
        summarizer_named(api.spec, url="localhost:8000")


def test_a_package_that_is_not_there_names_its_extra() -> None:
    """Before anything is asked."""
    with pytest.raises(MissingExtra) as caught:
        demand("no_such_package", "a summary")
    assert "foldaway[no_such_package]" in str(caught.value)


def test_a_summarizer_says_who_it_is(api: Any) -> None:
    """By the name that it was given, with the window that it was given."""
    made = summarizer_named(api.spec, context_length=32_000)
    assert made is not None
    assert (made.name, made.context_length) == (api.spec, 32_000)


def test_the_window_of_a_known_model_is_looked_up(api: Any) -> None:
    """In the catalog; an unknown model has 0."""
    kind = api.spec.partition(":")[0]
    known = summarizer_named(f"{kind}:gpt-4o")
    unknown = summarizer_named(f"{kind}:no-such-model-x")
    assert known is not None
    assert unknown is not None
    assert (known.context_length > 100_000, unknown.context_length) == (True, 0)


def test_a_missing_key_is_refused_with_the_name_of_its_variable(
    api: Any,
    monkeypatch: pytest.MonkeyPatch,
    question: SummaryRequest,
    failure_of: Any,
    tmp_path: Any,
) -> None:
    """Nothing is sent; the user learns what to set."""
    if api.package == "litellm":
        pytest.skip("litellm names no variable in its error")
    monkeypatch.delenv(KEYS[api.package])
    monkeypatch.setenv("HOME", str(tmp_path))  # where Anthropic's SDK looks for profiles
    made = summarizer_named(api.spec, context_length=1)
    failed = failure_of(made, question, 20)
    assert (failed.kind, failed.said) == ("refused", f"no key; set {KEYS[api.package]}")


def test_a_server_of_ones_own_needs_no_key(
    api: Any, monkeypatch: pytest.MonkeyPatch, server: Any, question: SummaryRequest, tmp_path: Any
) -> None:
    """Local servers have none; one that has will say so."""
    if api.package == "litellm":
        pytest.skip("litellm decides that for itself")
    monkeypatch.delenv(KEYS[api.package])
    monkeypatch.setenv("HOME", str(tmp_path))  # where Anthropic's SDK looks for profiles
    server.replies("a summary")
    assert api.at(api.url(server)).summarize(question, 20).text == "a summary"


def test_no_sdk_is_imported_before_it_is_asked() -> None:
    """Neither by the package nor by naming a summarizer."""
    code = (
        "import sys, foldaway, foldaway.summarizers.models as s\n"
        "from foldaway.errors import MissingExtra\n"
        "for spec in ('openai:m', 'openai-responses:m', 'anthropic:m', 'litellm:m'):\n"
        "    try: s.summarizer_named(spec, context_length=1)\n"
        "    except MissingExtra: pass\n"
        "print([m for m in ('openai','anthropic','litellm','httpx','httpx2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


GOOD = '{"completed": [{"text": "The agent looked through the values.", "source": ""}]}'
ITEMS = written("openai-chat", [Exchange(2, 2, 900)] * 8, with_system=True)


@pytest.mark.parametrize("fallback", [None, "main", "none"])
def test_the_own_model_is_asked_next_at_the_same_address(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, fallback: str | None
) -> None:
    """With the same key and no other; a setting turns it off."""
    pytest.importorskip("openai")
    monkeypatch.setenv("OUR_KEY", "sk-planted-ours")

    def reply(request: ModelRequest) -> Reply:
        if request.body["model"] == "model-small":
            return Sends(status=500, body={"error": {"message": "no"}})
        return Says(GOOD)

    server.replies(reply)
    url, policy = server.openai_url, Policy(floor_tokens=500)
    writers = writers_of("openai:model-small", fallback, url=url, key_variable="OUR_KEY")
    report = foldaway.compress(
        ITEMS, model="model-own", context_length=32_000, policy=policy, summarizer=writers
    ).report
    asked = [request.body["model"] for request in server.requests]
    if fallback == "none":
        assert (asked, report.summary_source.source) == (["model-small"], "ledger")
    else:
        assert asked == ["model-small", "model-own"]
        assert report.summary_source.name == "openai:model-own"
        assert "the other summarizer was asked" in str(report.notes)
    keys = {request.headers.get("authorization") for request in server.requests}
    assert keys == {"Bearer sk-planted-ours"}


def test_an_own_model_of_another_vendor_is_not_asked_and_that_is_said(server: ModelServer) -> None:
    """Nothing goes to a vendor that nobody named, neither words nor a key."""
    pytest.importorskip("openai")
    server.replies(Sends(status=500, body={"error": {"message": "no"}}))
    for model, url in (("claude-opus-5", server.openai_url), ("model-own", "")):
        writers = writers_of("openai:gpt-5-mini", url=url).for_model(model)
        assert writers.fallback is None
        assert f"{model} is not known to be asked by openai" in writers.no_own
    assert getattr(writers_of("openai:gpt-5-mini").for_model("gpt-5").fallback, "name", "") == (
        "openai:gpt-5"
    )
    writers = writers_of("openai:gpt-5-mini", url=server.openai_url)
    policy = Policy(floor_tokens=500)
    report = foldaway.compress(
        ITEMS, model="claude-opus-5", context_length=32_000, policy=policy, summarizer=writers
    ).report
    assert "the conversation's own model was not asked" in f"{report.notes} {report.detail}"
    assert len(server.requests) == 1
