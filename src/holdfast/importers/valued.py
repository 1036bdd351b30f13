"""Records whose messages hold `[{"type", "value"}]`: text, reasoning and calls by position.

LLaMA-Factory writes its tool dialogues so. Calls have no ids; a tool turn answers the calls
before it, several of them with a JSON list.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from holdfast.dialects.jsontext import dump_text
from holdfast.importers.draft import SessionDraft
from holdfast.importers.imported import ImportedSession
from holdfast.importers.loose import elements, fields, parsed, text
from holdfast.transcript import Payload


def is_record(value: Payload) -> bool:
    """Return whether the messages of a record hold typed values."""
    first = next(iter(elements(value.get("messages"))), None)
    blocks = elements(fields(first).get("content"))
    return bool(blocks) and "value" in fields(blocks[0]) and "type" in fields(blocks[0])


def read(record: Payload, path: str, source_id: str) -> Iterator[ImportedSession]:
    """Yield the dialogue of a record as chat messages; its calls are numbered."""
    draft, waiting = SessionDraft(source_id), deque[str]()
    made = 0
    for index, message in enumerate(map(fields, elements(record.get("messages")))):
        place = f"message {index}"
        blocks = [fields(block) for block in elements(message.get("content"))]
        role = text(message.get("role"))
        if role == "tool":
            for item in _results(_joined(blocks, "text"), waiting):
                draft.add(item, "", None, place)
            continue
        item: Payload = {"role": role, "content": _joined(blocks, "text")}
        calls = [_call(block) for block in blocks if block.get("type") == "tool_call"]
        for call in calls:
            made += 1
            call["id"] = f"call_{made}"
        if calls:
            item["tool_calls"] = calls
            waiting = deque(call["id"] for call in calls)
        reasoning = _joined(blocks, "reasoning")
        if reasoning:
            item["reasoning_content"] = reasoning
        draft.add(item, "", None, place)
    if draft.rows:
        yield draft.finish("sharegpt", "openai-chat", path)


def _joined(blocks: list[Payload], kind: str) -> str:
    return "\n\n".join(text(block.get("value")) for block in blocks if block.get("type") == kind)


def _call(block: Payload) -> Payload:
    found = fields(parsed(text(block.get("value"))))
    given = found.get("arguments")
    arguments = given if type(given) is str else dump_text(given or {})
    function = {"name": text(found.get("name")), "arguments": arguments}
    return {"id": "", "type": "function", "function": function}


def _results(said: str, waiting: deque[str]) -> Iterator[Payload]:
    """Yield a result for each waiting call where there are as many, otherwise one for the first."""
    answers = elements(parsed(said)) if len(waiting) > 1 else []
    pieces = [dump_text(answer) for answer in answers] if len(answers) == len(waiting) else [said]
    for piece in pieces:
        call_id = waiting.popleft() if waiting else ""
        yield {"role": "tool", "tool_call_id": call_id, "content": piece}
