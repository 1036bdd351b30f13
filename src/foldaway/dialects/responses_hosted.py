"""Responses items for tools that the provider defines and the client runs.

Shell, local shell, computer and apply-patch calls with their outputs, and MCP approvals.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

from foldaway.dialects.dialect import Places, merge_fields
from foldaway.dialects.jsontext import dump_text, parse
from foldaway.dialects.shape import Flaws, call_id, data_url, read_media
from foldaway.errors import CannotEncode, NotReadable
from foldaway.transcript import Media, Part, Payload, Role, Text, ToolCall, ToolResult

HOSTED_CALLS: dict[str, str] = {
    "local_shell_call": "action",
    "shell_call": "action",
    "computer_call": "action",
    "apply_patch_call": "operation",
    "mcp_approval_request": "arguments",
}
"""By item type, the field that says what is to be done."""

HOSTED_RESULTS = (
    "local_shell_call_output",
    "shell_call_output",
    "computer_call_output",
    "apply_patch_call_output",
    "mcp_approval_response",
)

_NAME = "openai-responses"
_OUTPUT = Places("output")


def decode_hosted_call(wire: Payload, flaws: Flaws, position: int) -> tuple[Role, Part]:
    """Return a hosted call; its arguments are the JSON of what is to be done."""
    kind: str = wire["type"]
    if kind == "mcp_approval_request":
        return "assistant", _approval_request(wire, flaws)
    field = HOSTED_CALLS[kind]
    action = wire.get(field, wire.get("actions"))
    if action is None:
        flaws.arguments(action, field)
        action = {}
    name = kind.removesuffix("_call")
    arguments = dump_text(action)
    own_id = call_id(wire, "call_id", "", flaws, position)
    return "assistant", ToolCall(own_id, name, arguments, "hosted", "", "", wire)


def _approval_request(wire: Payload, flaws: Flaws) -> ToolCall:
    own, name, arguments = wire.get("id"), wire.get("name"), wire.get("arguments")
    if type(own) is not str or not own:
        own = flaws.missing_id(own, "id")
    if type(arguments) is not str:
        arguments = flaws.arguments(arguments, "arguments")
    called = name if type(name) is str else ""
    return ToolCall(own, called, arguments, "hosted", "", "", wire)


def decode_hosted_result(wire: Payload, flaws: Flaws, position: int) -> tuple[Role, Part]:
    """Return what a hosted call answered: text, or a screenshot."""
    del position
    kind: str = wire["type"]
    key = "approval_request_id" if kind == "mcp_approval_response" else "call_id"
    call = wire.get(key)
    if call is None and kind == "local_shell_call_output":
        call = wire.get("id")
    if type(call) is not str or not call:
        call = flaws.missing_id(call, key)
    failed = wire.get("status") == "failed"
    name = "" if kind == "mcp_approval_response" else kind.removesuffix("_call_output")
    return "tool", ToolResult(call, _output(wire, kind), failed, name, "hosted", "", wire)


def _output(wire: Payload, kind: str) -> tuple[Part, ...]:
    if kind == "mcp_approval_response":
        answer = {key: wire[key] for key in ("approve", "reason") if key in wire}
        return (Text(dump_text(answer), "approve"),)
    output = wire.get("output")
    if output is None or output == "":
        return ()
    if type(output) is str:
        return (Text(output, "output"),)
    if kind == "computer_call_output" and type(output) is dict:
        shot: Payload = output
        return (read_media("image", shot.get("image_url"), "output", shot, shot.get("file_data")),)
    if type(output) is list:
        chunks: list[Any] = output
        return tuple([_chunk(chunk, _OUTPUT[index]) for index, chunk in enumerate(chunks)])
    return (Text(dump_text(output), "output"),)


def _chunk(chunk: Any, at: str) -> Text:
    """Return what one command of a shell call printed."""
    if type(chunk) is not dict:
        return Text(chunk if type(chunk) is str else dump_text(chunk), at)
    wire: Payload = chunk
    streams = (wire.get("stdout"), wire.get("stderr"))
    return Text("\n".join(text for text in streams if type(text) is str and text), at, wire)


def encode_hosted_call(part: ToolCall) -> Any:
    """Return the item of a hosted call whose arguments changed."""
    kind = part.wire["type"] if part.wire is not None else f"{part.name}_call"
    field = HOSTED_CALLS.get(kind)
    if field is None:
        raise CannotEncode(_NAME, f"a hosted call of {part.name!r}")
    if kind == "mcp_approval_request":
        fields = {"type": kind, "id": part.id, "name": part.name, "arguments": part.arguments}
        return merge_fields(part.wire, fields)
    try:
        action = parse(part.arguments.encode())
    except (NotReadable, UnicodeEncodeError):
        raise CannotEncode(_NAME, f"a {kind} whose arguments are not JSON") from None
    if part.wire is not None and field not in part.wire and "actions" in part.wire:
        field = "actions"
    return merge_fields(part.wire, {"type": kind, "call_id": part.id, field: action})


def encode_hosted_result(part: ToolResult) -> Any:
    """Return the item of a hosted result; what has no form is an error, never a guess."""
    kind = part.wire["type"] if part.wire is not None else f"{part.name}_call_output"
    if kind not in HOSTED_RESULTS:
        raise CannotEncode(_NAME, f"the result of a hosted call of {part.name!r}")
    if kind == "mcp_approval_response":
        fields = {"type": kind, "approval_request_id": part.call_id}
        return merge_fields(part.wire, fields)
    fields = {"type": kind, "call_id": part.call_id, "output": _encode_output(part, kind)}
    if kind == "apply_patch_call_output":
        fields["status"] = "failed" if part.is_error else "completed"
    if part.wire is not None and "call_id" not in part.wire and kind == "local_shell_call_output":
        fields["id"] = fields.pop("call_id")
    return merge_fields(part.wire, fields)


def _encode_output(part: ToolResult, kind: str) -> Any:
    if kind == "computer_call_output":
        return _encode_screenshot(part)
    if kind == "shell_call_output":
        return [_encode_chunk(piece, part.is_error) for piece in part.parts]
    return "\n".join(piece.text for piece in part.parts if isinstance(piece, Text))


def _encode_screenshot(part: ToolResult) -> Any:
    shots = [piece for piece in part.parts if isinstance(piece, Media)]
    if len(shots) != 1 or len(part.parts) != 1:
        raise CannotEncode(_NAME, "a computer result that is not exactly one screenshot")
    shot = shots[0]
    if shot.wire is not None and shot.intact:
        return shot.wire
    return {"type": "computer_screenshot", "image_url": data_url(shot)}


def _encode_chunk(part: Part, failed: bool) -> Any:
    if part.wire is not None and part.intact:
        return part.wire
    if not isinstance(part, Text):
        raise CannotEncode(_NAME, f"a {type(part).__name__} in a shell result")
    outcome = {"type": "exit", "exit_code": 1 if failed else 0}
    if part.wire is not None:
        outcome = part.wire.get("outcome", outcome)
    fields = {"stdout": part.text, "stderr": "", "outcome": outcome}
    return merge_fields(part.wire, fields)
