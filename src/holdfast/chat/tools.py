"""What a model may call: the session's own tools, those of MCP servers, and a shell that asks."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from holdfast.engine.recall import tools_in
from holdfast.errors import HoldfastError, NotReadable
from holdfast.memory.external.mcp import result_text
from holdfast.memory.external.mcp_session import McpOptions, McpSession
from holdfast.sessions.chat import Chat
from holdfast.transcript import ToolCall
from holdfast.writing.models.keys import ANTHROPIC, OPENAI
from holdfast.writing.models.sdk import demand

Allowed: TypeAlias = Literal["yes", "no", "always"]
AskUser: TypeAlias = Callable[[str], Awaitable[Allowed]]
"""Asks whether a command may run; `always` is for the same command in this chat."""

SHELL = {
    "name": "shell",
    "description": "Run a command in a shell in the user's current folder and return its output. "
    "The user is asked first and may refuse.",
    "parameters": {
        "type": "object",
        "required": ["command"],
        "properties": {"command": {"type": "string", "description": "The command line."}},
    },
}
SHELL_SECONDS = 120.0
"""How long a command may run; chosen, enough for most test suites."""
SHELL_BYTES = 1 << 20
"""Of an output; what is longer would be cut down by the session's policy anyway."""
REFUSED = "The user did not allow this command."
_SECRETS = (OPENAI.key, ANTHROPIC.key, "ANTHROPIC_AUTH_TOKEN", OPENAI.headers, ANTHROPIC.headers)
"""Variables that a command does not get: a model could read them."""
_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_NAME_CHARS = 64
"""The longest name of a tool that both providers take."""


class McpServer(Struct, frozen=True):
    """A server of the user's, under its name."""

    name: str
    session: McpSession


def read_servers(path: str) -> list[McpServer]:
    """Return the servers of a JSON file: `{"mcpServers": {"NAME": {"command": …} or {"url": …}}}`.

    Raises `NotReadable`, and `MissingExtra` without the extra `mcp`; nothing is started yet.
    """

    class ServersFile(Struct):
        mcpServers: dict[str, dict[str, Any]]  # noqa: N815  as clients write it

    known = set(McpOptions.__struct_fields__)
    try:
        found = msgspec.json.decode(Path(path).read_bytes(), type=ServersFile).mcpServers
        options = {
            name: msgspec.convert({key: one[key] for key in one if key in known}, McpOptions)
            for name, one in found.items()
        }
    except OSError as error:
        raise NotReadable(f"cannot be read ({error.strerror})", where=path) from None
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise NotReadable(f"is not a list of MCP servers ({error})", where=path) from None
    demand("mcp", "an MCP server")  # so that it is said now, not at the first call
    return [McpServer(name, McpSession(one)) for name, one in options.items()]


class OwnTool(Struct, frozen=True):
    """A tool of the host: how it is declared, and what answers it."""

    declaration: dict[str, Any]
    run: Callable[[Mapping[str, Any]], str]


class Toolbox:
    """All tools of one chat; `open` it before the first turn, and `close` it at the end."""

    def __init__(
        self,
        chat: Chat,
        *,
        servers: Sequence[McpServer] = (),
        ask: AskUser | None = None,
        own: Sequence[OwnTool] = (),
    ) -> None:
        """Take the chat with its own tools, servers, who is asked (nobody: no shell), and more
        tools of the host.
        """
        self._chat, self._servers, self._ask = chat, servers, ask
        self._own = {str(tool.declaration["name"]): tool.run for tool in own}
        self._always: set[str] = set()
        self._declared: list[dict[str, Any]] = [
            *chat.tools(), *(tool.declaration for tool in own), *([SHELL] if ask else []),
        ]  # fmt: skip
        self._remote: dict[str, tuple[McpServer, str]] = {}

    async def open(self) -> list[str]:
        """Ask the servers for their tools; return a sentence for each that did not answer."""
        trouble: list[str] = []
        for server in self._servers:
            try:
                offered = await asyncio.to_thread(server.session.tools)
            except HoldfastError as error:
                trouble.append(f"no tools of the MCP server {server.name!r}: {error}")
                continue
            for tool in offered:
                name = _NAME.sub("_", f"{server.name}__{tool.name}")[:_NAME_CHARS]
                if name in self._remote:
                    continue
                self._remote[name] = (server, tool.name)
                about = tool.description or f"{tool.name} of {server.name}"
                self._declared.append(
                    {"name": name, "description": about, "parameters": dict(tool.schema)}
                )
        return trouble

    async def close(self) -> None:
        """End the sessions with the servers, and the processes that they started."""
        for server in self._servers:
            await asyncio.to_thread(server.session.close)

    def declared(self, dialect: str) -> list[dict[str, Any]]:
        """Return the tools as requests declare them; constant, so that prompts stay cached."""
        return tools_in(dialect, self._declared)

    async def call(self, call: ToolCall) -> str:
        """Answer a call; what went wrong is said in a sentence. Cancelling it ends a command."""
        try:
            arguments = msgspec.json.decode(call.arguments or "{}", type=dict[str, Any])
        except (msgspec.DecodeError, msgspec.ValidationError):
            return f"The arguments of {call.name} are no JSON object."
        if call.name == SHELL["name"] and self._ask is not None:
            return await self._shell(str(arguments.get("command") or ""), self._ask)
        if call.name in self._own:
            return self._own[call.name](arguments)
        if call.name in self._remote:
            server, name = self._remote[call.name]
            try:
                result = await asyncio.to_thread(server.session.call, name, arguments)
            except HoldfastError as error:
                return f"{call.name} failed: {error}"
            return result_text(result)
        return await asyncio.to_thread(self._chat.call, call.name, arguments)

    async def _shell(self, command: str, ask: AskUser) -> str:
        if not command.strip():
            return "No command was given."
        if command not in self._always:
            allowed = await ask(command)
            if allowed == "no":
                return REFUSED
            if allowed == "always":
                self._always.add(command)
        return await run_command(command, _without_keys(os.environ))


def _without_keys(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in variables.items() if name not in _SECRETS}


async def run_command(command: str, variables: Mapping[str, str]) -> str:
    """Return what a shell command printed, and its exit code if it is not 0.

    It reads nothing, and ends with all that it started, after `SHELL_SECONDS` or when the task is
    canceled.
    """
    process = subprocess.Popen(
        command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env=dict(variables), start_new_session=True,
    )  # fmt: skip
    held = bytearray()
    try:
        async with asyncio.timeout(SHELL_SECONDS):
            note = await _read(process, held)
        code = process.wait()  # nobody has its output any more
        note += f"\n[exit code {code}]" if code else ""
    except TimeoutError:
        note = f"\n[stopped after {SHELL_SECONDS:.0f} s]"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return (held.decode("utf-8", "replace") + note).strip() or "[no output]"


async def _read(process: subprocess.Popen[bytes], held: bytearray) -> str:
    """Read the output into `held`; return a note if not all of it is there."""
    assert process.stdout is not None
    reader, total = asyncio.StreamReader(), 0
    loop = asyncio.get_running_loop()
    with process.stdout as pipe:
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await loop.connect_read_pipe(lambda: protocol, pipe)
        try:
            while piece := await reader.read(1 << 16):
                total += len(piece)
                held += piece[: SHELL_BYTES - len(held)]
        finally:
            transport.close()
    return f"\n[{total - len(held):,} bytes more]" if total > len(held) else ""
