"""Which key goes to which address: the SDKs as they are, a server that notes what it was sent."""

from __future__ import annotations

import contextlib
import os
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.testing.rows import each_row

from foldaway._core.ports import NativeRequest, SummaryRequest
from foldaway.errors import SummarizerFailed
from foldaway.summarizers.models import summarizer_named
from foldaway.summarizers.models.keys import ANTHROPIC, ANY, OPENAI, Vendor, access_to

PLANTED = "sk-planted"
SOURCE = Path(__file__).resolve().parents[2] / "src"


def sent(server: Any) -> str:
    """Return all headers that a server was sent."""
    assert server.requests
    return "\n".join(
        f"{name}: {value}" for request in server.requests for name, value in request.headers.items()
    )


@pytest.fixture(autouse=True)
def more_variables(monkeypatch: pytest.MonkeyPatch, environment: None) -> None:
    """Everything in which an SDK looks for something to send."""
    for name in ("OPENAI_ADMIN_KEY", "ANTHROPIC_AUTH_TOKEN", "LITELLM_API_KEY", "OLLAMA_API_KEY",
                 "OPENAI_LIKE_API_KEY", "HOSTED_VLLM_API_KEY", "LM_STUDIO_API_KEY",
                 "LITELLM_PROXY_API_KEY", "LLAMAFILE_API_KEY", "OPENAI_ORG_ID",
                 "OPENAI_PROJECT_ID"):  # fmt: skip
        monkeypatch.setenv(name, f"{PLANTED}-{name}")
    for name in ("OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.setenv(name, f"X-Gateway: {PLANTED}\nauthorization: Bearer {PLANTED}-header")


def test_an_address_of_ones_own_gets_no_key_of_a_vendor(
    api: Any, server: Any, question: SummaryRequest
) -> None:
    """Nor an organisation or a header that is meant for the vendor."""
    server.replies("a summary")
    assert api.at(api.url(server)).summarize(question, 20).text == "a summary"
    assert PLANTED not in sent(server)


def test_a_key_that_is_paired_with_the_address_is_sent_there(
    api: Any, server: Any, question: SummaryRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the name of its variable, or by a caller who has it; nothing else goes along."""
    monkeypatch.setenv("MY_KEY", "sk-mine")
    for pair in ({"key_variable": "MY_KEY"}, {"api_key": "sk-mine"}):
        server.replies("a summary")
        made = summarizer_named(api.spec, url=api.url(server), context_length=1000, **pair)
        assert made is not None
        assert made.summarize(question, 20).text == "a summary"
        assert "sk-mine" in sent(server)
        assert PLANTED not in sent(server)


def test_the_vendors_key_can_be_paired_with_another_address(
    api: Any, server: Any, question: SummaryRequest
) -> None:
    """The user says so by naming its variable."""
    server.replies("a summary")
    made = summarizer_named(
        api.spec, url=api.url(server), key_variable="OPENAI_API_KEY", context_length=1000
    )
    assert made is not None
    made.summarize(question, 20)
    assert f"Bearer {PLANTED}-openai" in sent(server)


def test_a_variable_that_is_not_set_is_named_and_nothing_is_sent(
    api: Any, server: Any, question: SummaryRequest, failure_of: Any
) -> None:
    """No other key is taken in its place."""
    server.replies("a summary")
    made = summarizer_named(api.spec, url=api.url(server), key_variable="NOT_SET")
    failed = failure_of(made, question, 20)
    assert (failed.kind, failed.said) == ("refused", "no key; set NOT_SET")
    assert server.requests == []


def test_who_refuses_a_missing_key_is_told_how_to_pair_one(
    api: Any, server: Any, question: SummaryRequest, failure_of: Any
) -> None:
    """A server that wants a key answers 401."""
    from foldaway.testing import openai_error

    server.replies(lambda request: openai_error(401, "invalid_api_key"))
    failed = failure_of(api.at(api.url(server)), question, 20)
    assert failed.kind == "refused"
    assert "summarizer.key_variable" in failed.said
    assert "no key was sent" in failed.said


@pytest.mark.parametrize("package", ["openai", "anthropic"])
def test_an_address_in_the_variable_of_the_sdk_gets_the_key_in_the_other_one(
    package: str, server: Any, question: SummaryRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are the user's own environment, which pairs them."""
    pytest.importorskip(package)
    url = server.anthropic_url if package == "anthropic" else server.openai_url
    monkeypatch.setenv(f"{package.upper()}_BASE_URL", url)
    monkeypatch.delenv(f"{package.upper()}_CUSTOM_HEADERS")
    server.replies("a summary")
    made = summarizer_named(f"{package}:model-x", context_length=1000)
    assert made is not None
    made.summarize(question, 20)
    assert f"{PLANTED}-{package}" in sent(server)


@pytest.mark.parametrize("package", ["openai", "anthropic"])
def test_native_compaction_keeps_the_same_rule(
    package: str, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No key without a pair, the paired one with it."""
    pytest.importorskip(package)
    from foldaway.summarizers.models import anthropic_native, openai_native

    make, url = {
        "openai": (openai_native, server.openai_url),
        "anthropic": (anthropic_native, server.anthropic_url),
    }[package]
    monkeypatch.setenv("MY_KEY", "sk-mine")
    request = NativeRequest(messages=[{"role": "user", "content": "Hello."}])
    for variable in ("", "MY_KEY"):
        server.replies("x")
        with contextlib.suppress(SummarizerFailed):  # what it answers does not matter here
            make("model-x", url=url, key_variable=variable).compact(request, 20)
        assert PLANTED not in sent(server)
        assert ("sk-mine" in sent(server)) == bool(variable)


@each_row(("vendor", "url", "is_foreign"), [
    (OPENAI, "", False),
    (OPENAI, "https://api.openai.com", False),
    (OPENAI, "https://api.openai.com/v1", False),
    (OPENAI, "https://API.OpenAI.com:443/v1/", False),
    (OPENAI, "https://eu.api.openai.com/v1", False),
    (OPENAI, "http://api.openai.com/v1", True),
    (OPENAI, "https://api.openai.com:8443/v1", True),
    (OPENAI, "https://api.openai.com.evil.example/v1", True),
    (OPENAI, "https://api.openai.com@evil.example/v1", True),
    (OPENAI, "https://evil.example\\.api.openai.com/v1", True),
    (OPENAI, "https://evil.example/?.api.openai.com", True),
    (OPENAI, "https://evil.example#.api.openai.com/v1", True),
    (OPENAI, "https://xapi.openai.com/v1", True),
    (OPENAI, "https://api.openai.com\n.evil.example", True),
    (OPENAI, "https://api.anthropic.com", True),
    (OPENAI, "http://localhost:8000/v1", True),
    (ANTHROPIC, "https://api.anthropic.com", False),
    (ANTHROPIC, "https://api.openai.com", True),
    (ANY, "https://api.openai.com/v1", True),
])  # fmt: skip
def test_an_address_is_the_vendors_only_if_it_is_spelled_as_theirs(
    vendor: Vendor, url: str, is_foreign: bool
) -> None:
    """Over TLS, the host and no user before it."""
    assert access_to(vendor, url, "", "").is_foreign == is_foreign


class Listener(socketserver.ThreadingTCPServer):
    """Notes what it is sent and answers that it cannot."""

    def __init__(self) -> None:
        self.received: list[str] = []
        super().__init__(("127.0.0.1", 0), _Note)


class _Note(socketserver.BaseRequestHandler):
    server: Listener

    def handle(self) -> None:
        self.server.received.append(self.request.recv(1_000_000).decode("latin-1"))
        self.request.sendall(b"HTTP/1.1 400 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("provider", "is_asked"), [
    ("openai", True), ("anthropic", True), ("ollama_chat", True), ("hosted_vllm", True),
    ("lm_studio", True), ("litellm_proxy", True), ("llamafile", True),
    ("custom_openai", True), ("ollama", True),
    ("vertex_ai", False), ("bedrock", False), ("azure", False), ("gemini", False), ("groq", False),
])  # fmt: skip
def test_litellm_asks_a_foreign_address_only_where_no_other_key_can_go_along(
    provider: str, is_asked: bool, listener: Listener, question: SummaryRequest
) -> None:
    """Providers that sign with an account of the machine want a key that is paired."""
    pytest.importorskip("litellm")
    url = f"http://127.0.0.1:{listener.server_address[1]}/v1"
    made = summarizer_named(f"litellm:{provider}/model-x", url=url, context_length=1000)
    assert made is not None
    with pytest.raises(SummarizerFailed) as caught:
        made.summarize(question, 20)
    assert bool(listener.received) == is_asked
    assert PLANTED not in "".join(listener.received)
    if not is_asked:
        assert "summarizer.key_variable" in caught.value.said


def test_litellm_takes_no_variables_from_the_folder_that_it_is_installed_in(tmp_path: Path) -> None:
    """A `.env` beside a virtual environment could name the address that keys are sent to."""
    litellm = pytest.importorskip("litellm")
    head, found, _ = Path(litellm.__file__).read_text().partition("load_dotenv(")
    assert found, "litellm does not look for a .env any more: nothing is to be kept from it"
    # the beginning of litellm, up to that line: all of it takes five seconds to import
    package = tmp_path / "site" / "litellm"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f"{head}load_dotenv()\n")
    (tmp_path / ".env").write_text("OPENAI_API_BASE=http://evil.example\n")
    code = (
        "import os, sys\n"
        "from foldaway.summarizers.models import summarizer_named\n"
        "summarizer_named('litellm:openai/x', context_length=1).warm()\n"
        "assert 'site' in sys.modules['litellm'].__file__.split(os.sep)\n"
        "print(os.environ.get('OPENAI_API_BASE'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{tmp_path / 'site'}"},
    )  # fmt: skip
    assert done.stdout.strip() == "None"
