"""What a model may call: the session's own tools, those of MCP servers, and a shell that asks."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from foldaway.engine import tools_in
from foldaway.errors import FoldawayError, NotReadable
from foldaway.memory import McpOptions, McpSession, result_text
from foldaway.sessions import Chat
from foldaway.summarizers import KEY_VARIABLES, demand
from foldaway.transcript import ToolCall

Allowed: TypeAlias = Literal["yes", "no", "always"]
AskUser: TypeAlias = Callable[[str], Awaitable[Allowed]]
"""Asks whether a command may run; `always` is for the same command in this chat."""

OwnTool: TypeAlias = tuple[dict[str, Any], Callable[[Mapping[str, Any]], str]]
"""A tool of the host: how it is declared, and what answers it."""

SHELL = {
    "name": "shell",
    "description": "Run a command in a shell in the user's current folder and return its output. "
    "The user is asked first and may refuse.",
    "parameters": {
        "type": "object",
        "required": ["command"],
        "properties": {"command": {"type": "string"}},
    },
}
SHELL_SECONDS = 120.0
"""How long a command may run; chosen, enough for most test suites."""
SHELL_BYTES = 1 << 20
"""Of an output; what is longer would be cut down by the session's policy anyway."""
"""Variables that a command does not get: a model could read them."""
_NAME = re.compile(r"[^A-Za-z0-9_-]+")
"""What is not in the name of a tool, of which both providers take 64 characters."""


def read_servers(path: str) -> dict[str, McpSession]:
    """Return the servers that a JSON file has under `mcpServers`; nothing is started yet.

    Raises `NotReadable`, and `MissingExtra` without the extra `mcp`.
    """
    demand("mcp", "an MCP server")
    known = set(McpOptions.__struct_fields__)
    try:
        data = Path(path).read_bytes()
        found = msgspec.json.decode(data, type=dict[str, dict[str, dict[str, Any]]])["mcpServers"]
        return {
            name: McpSession(msgspec.convert({key: one[key] for key in known & {*one}}, McpOptions))
            for name, one in found.items()
        }
    except OSError as error:
        raise NotReadable(f"cannot be read ({error.strerror})", where=path) from None
    except (msgspec.DecodeError, KeyError) as error:
        raise NotReadable(f"is not a list of MCP servers ({error})", where=path) from None


class Toolbox:
    """All tools of one chat; `open` it before the first turn, and `close` it at the end."""

    def __init__(
        self,
        chat: Chat,
        *,
        servers: Mapping[str, McpSession] | None = None,
        ask: AskUser | None = None,
        own: Sequence[OwnTool] = (),
    ) -> None:
        """Take a chat, servers, who is asked (nobody: no shell), and more tools of the host."""
        self._chat, self._servers, self._ask = chat, servers or {}, ask
        self._own = {str(declared["name"]): run for declared, run in own}
        self._always: set[str] = set()
        self._declared = [*chat.tools(), *(one for one, _ in own), *([SHELL] if ask else [])]
        self._remote: dict[str, Callable[[dict[str, Any]], Any]] = {}

    async def open(self) -> list[str]:
        """Ask the servers for their tools; return a sentence for each that did not answer."""
        trouble: list[str] = []
        for server, session in self._servers.items():
            try:
                offered = await asyncio.to_thread(session.tools)
            except FoldawayError as error:
                trouble.append(f"no tools of the MCP server {server!r}: {error}")
                continue
            for tool in offered:
                name = _NAME.sub("_", f"{server}__{tool.name}")[:64]
                about = tool.description or f"{tool.name} of {server}"
                row = {"name": name, "description": about, "parameters": dict(tool.schema)}
                self._declared += [] if name in self._remote else [row]
                self._remote.setdefault(name, partial(session.call, tool.name))
        return trouble

    async def close(self) -> None:
        """End the sessions with the servers, and the processes that they started."""
        for session in self._servers.values():
            await asyncio.to_thread(session.close)

    def declare(self, dialect: str) -> list[dict[str, Any]]:
        """Return the tools as requests declare them; constant, so that prompts stay cached."""
        return tools_in(dialect, self._declared)

    async def call(self, call: ToolCall) -> str:
        """Answer a call; what went wrong is said in a sentence. Cancelling it ends a command."""
        try:
            arguments = msgspec.json.decode(call.arguments or "{}", type=dict[str, Any])
        except msgspec.DecodeError:
            return f"The arguments of {call.name} are not a JSON object."
        if call.name == SHELL["name"] and self._ask is not None:
            return await self._shell(str(arguments.get("command") or ""), self._ask)
        if call.name in self._own:
            return self._own[call.name](arguments)
        if call.name in self._remote:
            try:
                return result_text(await asyncio.to_thread(self._remote[call.name], arguments))
            except FoldawayError as error:
                return f"{call.name} failed: {error}"
        return await asyncio.to_thread(self._chat.call, call.name, arguments)

    async def _shell(self, command: str, ask: AskUser) -> str:
        if not command.strip():
            return "No command was given."
        if command not in self._always:
            allowed = await ask(command)
            if allowed == "no":
                return "The user did not allow this command."
            if allowed == "always":
                self._always.add(command)
        return await run_command(command)


async def run_command(command: str, seconds: float = SHELL_SECONDS) -> str:
    """Return what a shell command printed, and its exit code if it is not 0.

    It reads nothing, and ends with all that it started, after `seconds` or when it is canceled.
    """
    variables = {name: text for name, text in os.environ.items() if name not in KEY_VARIABLES}
    process = subprocess.Popen(
        command,
        shell=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=variables,
        start_new_session=True,
    )
    held = bytearray()
    try:
        async with asyncio.timeout(seconds):
            note = await _read(process, held)
        code = process.wait()  # nobody has its output any more
        note += f"\n[exit code {code}]" if code else ""
    except TimeoutError:
        note = f"\n[stopped after {seconds:g} s]"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return (held.decode("utf-8", "replace") + note).strip() or "[no output]"


async def _read(process: subprocess.Popen[bytes], held: bytearray) -> str:
    """Read the output into `held`; return a note if not all of it is there."""
    assert process.stdout is not None
    reader, loop, total = asyncio.StreamReader(), asyncio.get_running_loop(), 0
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
