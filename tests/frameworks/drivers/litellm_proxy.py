"""The clients of the providers in front of a LiteLLM proxy with the callback, for a key that takes
part. On chat, the async phase has the SDK's own completions instead, as has the SDK's own trimming.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).parents[1])
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

from drivers.clients import WIRES, Loop, Wire
from playing import Case, play

from foldaway.integrations.host_sessions import owned_key

KEY = "sk-takes-part"
OWNER = hashlib.sha256(KEY.encode()).hexdigest()
"""What the proxy knows the key by."""
CONFIG = """
model_list:
  - model_name: {model}
    litellm_params: {{model: {provider}/{model}, api_base: "{url}", api_key: none}}
general_settings:
  custom_auth: own.auth
litellm_settings:
  callbacks: [own.callback]
  num_retries: 0
router_settings: {{num_retries: 0}}
"""
OWN = """
from litellm.proxy._types import UserAPIKeyAuth
from foldaway.integrations.litellm import FoldawayCallback

callback = FoldawayCallback({store!r}, context_length={window}, on_error="raise")

async def auth(request, api_key):
    return UserAPIKeyAuth(api_key=api_key, metadata={{"foldaway": api_key == {key!r}}})
"""


class Proxied(Wire):
    """A client whose requests go to the proxy; it answers tools from the same store."""

    direct = ""

    def wrapped(self, client: Any) -> Any:
        from foldaway.integrations.litellm import FoldawayCallback

        self.callback = FoldawayCallback(self.case.store)
        self.sessions = self.callback.sessions
        return client.copy(default_headers={"x-foldaway-session": self.case.thread}, api_key=KEY)

    def called(self, name: str, arguments: dict[str, Any]) -> str:
        if name.startswith("foldaway_"):
            given = json.dumps(arguments)
            return self.callback.answer(KEY, self.case.thread, name, given)
        return super().called(name, arguments)

    def trimmed(self, listed: list[Any]) -> dict[str, Any]:
        from litellm.utils import trim_messages

        most = self.case.window * 3 // 4
        return {
            **self.request(trim_messages(listed, self.case.model, max_tokens=most)),
            "model": f"openai/{self.case.model}", "api_base": f"{self.direct}/v1",
            "api_key": "none",
        }  # fmt: skip

    def stream(self, client: Any, listed: list[Any]) -> Any:
        if self.case.strategy != "trim":
            return super().stream(client, listed)
        import litellm

        pieces = litellm.completion(**self.trimmed(listed), stream=True)
        return litellm.stream_chunk_builder(list(pieces))

    def send(self, client: Any, listed: list[Any]) -> Any:
        if self.case.strategy == "trim":
            import litellm

            is_async = self.case.mode == "aask"
            call = litellm.acompletion if is_async else litellm.completion
            return call(**self.trimmed(listed))
        if self.case.wire == "chat" and self.case.mode == "aask":
            from foldaway.integrations.litellm import FoldawayCompletions

            key, window = owned_key(OWNER, self.case.thread), self.case.window
            made = FoldawayCompletions(key, self.case.store, context_length=window)
            model = f"openai/{self.case.model}"
            asked = {**self.request(listed), "model": model, "api_base": f"{self.direct}/v1"}
            return made.acompletion(**asked, api_key="none")
        if self.case.mode != "ask":
            return super().send(client, listed)
        for _ in range(4):
            try:
                return super().send(client, listed)
            except Exception as error:
                if getattr(error, "status_code", 0) != 400:
                    raise
        return super().send(client, listed)  # the proxy cannot try again; a client can


class Conversation(Loop):
    """A loop that talks to a proxy."""

    def __init__(self, case: Case) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        is_direct = case.strategy == "trim" or (case.wire, case.mode) == ("chat", "aask")
        self.proxy = None if is_direct else started(case, port)
        there = replace(case, url=f"http://127.0.0.1:{port}")
        self.wire = type("ProxiedWire", (Proxied, WIRES[case.wire]), {})(there, {})
        self.wire.direct = case.url
        self.client, path = self.wire.client(case.mode), case.kept()
        self.path, self.list = path, json.loads(path.read_text()) if path.exists() else []

    def _loop(self, text: str, send: Any) -> str:
        try:
            return super()._loop(text, send)
        finally:
            if self.proxy is not None:
                self.proxy.terminate()

    async def aask(self, text: str) -> str:
        try:
            return await super().aask(text)
        finally:
            if self.proxy is not None:
                self.proxy.terminate()


def started(case: Case, port: int) -> subprocess.Popen[bytes]:
    """Return a proxy that answers."""
    is_claude = case.wire == "messages"
    url = case.url if is_claude else f"{case.url}/v1"
    provider = "anthropic" if is_claude else "openai"
    case.kept("config.yaml").write_text(CONFIG.format(model=case.model, provider=provider, url=url))
    case.kept("own.py").write_text(OWN.format(store=case.store, window=case.window, key=KEY))
    command = [
        sys.executable, "-c", "from litellm import run_server; run_server()",
        "--config", str(case.kept("config.yaml")), "--port", str(port), "--host", "127.0.0.1",
    ]  # fmt: skip
    env = {**os.environ, "DISABLE_ADMIN_UI": "True",
           "LITELLM_MASTER_KEY": f"sk-{secrets.token_hex(24)}"}  # fmt: skip
    log = case.kept(f"proxy-{case.mode}.log").open("ab")
    proxy = subprocess.Popen(command, env=env, stdout=log, stderr=log, cwd=case.folder)
    for _ in range(600):
        if proxy.poll() is not None:
            break
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health/liveliness", timeout=5)
        except OSError:
            time.sleep(0.2)
        else:
            return proxy
    proxy.kill()
    raise RuntimeError("the proxy did not start")


if __name__ == "__main__":
    play(Conversation)
