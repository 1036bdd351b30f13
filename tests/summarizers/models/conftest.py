"""One model server for all tests here, and the summarisers that ask it."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec import Struct

from foldaway._core.ports import Summarizer, SummaryAnswer, SummaryRequest
from foldaway.errors import SummarizerFailed
from foldaway.summarizers.models import summarizer_named

if TYPE_CHECKING:
    from foldaway.testing import ModelServer

VARIABLES = {
    "OPENAI_API_KEY": "sk-planted-openai",
    "ANTHROPIC_API_KEY": "sk-planted-anthropic",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
OTHERS = (
    "OPENAI_BASE_URL",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_PROFILE",
    "ANTHROPIC_CONFIG_DIR",
)


class Api(Struct, frozen=True):
    """One way to a model: its package, its spec, and what its server is called there."""

    package: str
    spec: str
    answers_as: str

    def url(self, server: ModelServer) -> str:
        return server.anthropic_url if self.package == "anthropic" else server.openai_url

    def at(self, url: str) -> Summarizer:
        made = summarizer_named(self.spec, url=url, context_length=1000)
        assert made is not None
        return made


APIS = {
    "chat": Api("openai", "openai:model-x", "chat"),
    "responses": Api("openai", "openai-responses:model-x", "responses"),
    "messages": Api("anthropic", "anthropic:model-x", "messages"),
    "litellm": Api("litellm", "litellm:openai/model-x", "chat"),
}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, one_certificate: Path | None) -> None:
    """Keys that are none, no proxy between here and loopback, few certificates to read."""
    if one_certificate:
        monkeypatch.setenv("SSL_CERT_FILE", str(one_certificate))
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    for name in (*PROXIES, *(name.lower() for name in PROXIES), *OTHERS):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def one_certificate(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """The first of the usual certificates: reading all of them takes most of a short call."""
    try:
        import certifi
    except ImportError:  # it comes with the SDKs
        return None
    end = "-----END CERTIFICATE-----\n"
    first, _, _ = Path(certifi.where()).read_text().partition(end)
    path = tmp_path_factory.mktemp("tls") / "one.pem"
    path.write_text(first + end)
    return path


@pytest.fixture(scope="session")
def only_server() -> Iterator[ModelServer]:
    pytest.importorskip("starlette", reason="the model server needs starlette")
    from foldaway.testing import ModelServer

    with ModelServer() as server:
        yield server


@pytest.fixture
def server(only_server: ModelServer) -> ModelServer:
    only_server.replies("")
    return only_server


@pytest.fixture(
    params=[
        # it takes five seconds to import
        pytest.param(name, marks=pytest.mark.soak) if name == "litellm" else name
        for name in APIS
    ]
)
def api(request: pytest.FixtureRequest, environment: None) -> Iterator[Api]:
    found = APIS[request.param]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the SDKs themselves use while they are imported
        pytest.importorskip(found.package, reason=f"needs the {found.package} package")
    with warnings.catch_warnings():
        if found.package == "litellm":  # its own use of pydantic
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", UserWarning)
        yield found


Ask = Callable[[Summarizer, SummaryRequest, float], SummaryAnswer]


def wait(summarizer: Summarizer, request: SummaryRequest, timeout: float) -> SummaryAnswer:
    return summarizer.summarize(request, timeout)


def await_(summarizer: Summarizer, request: SummaryRequest, timeout: float) -> SummaryAnswer:
    async def main() -> SummaryAnswer:
        try:
            return await summarizer.asummarize(request, timeout)
        finally:
            tidy = getattr(summarizer, "_tidy", None)
            if tidy:  # this loop ends here too, and litellm keeps clients for it
                await tidy()

    return asyncio.run(main())


@pytest.fixture(params=[wait, await_], ids=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    return request.param


@pytest.fixture
def failure_of(ask: Ask) -> Callable[[Summarizer, SummaryRequest, float], SummarizerFailed]:
    def failed(summarizer: Summarizer, request: SummaryRequest, timeout: float) -> SummarizerFailed:
        with pytest.raises(SummarizerFailed) as caught:
            ask(summarizer, request, timeout)
        return caught.value

    return failed


@pytest.fixture
def question() -> SummaryRequest:
    return SummaryRequest(
        instructions="Summarise.", prompt="the planted conversation", max_tokens=200
    )
