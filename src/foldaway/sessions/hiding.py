"""Which messages may leave their session, and what each becomes before it does."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias, cast

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from foldaway.dialects import dialect_named, dump_bytes, parse
from foldaway.engine import make_redactor
from foldaway.redaction import HIDDEN_LINE, RedactionPolicy, Redactor
from foldaway.search import HIDDEN, Reveal, Revealed, Written, extract_searchable
from foldaway.stores import Store
from foldaway.transcript import Message, ToolCall

Show: TypeAlias = Callable[[str], str]
"""What a text becomes before it is shown; a redactor if it leaves its session."""

PLACEHOLDER = re.compile(r"\[redacted:[a-z0-9:_-]+\]")
"""What stands for a secret: its kind, and a tag that is the same for the same secret."""


SPEAKERS: Final = ("user", "assistant", "tool")
"""The roles whose messages may leave. System and developer prompts stay in the store, and so does
a message of an unknown role: it may be a system prompt in another spelling."""


def may_leave(role: str, payload: Any = None) -> bool:
    """Return whether a message may be shown outside its session: no prompt, no tool definitions."""
    defines = isinstance(payload, dict) and "tools" in cast("dict[str, Any]", payload)
    return role in SPEAKERS and not defines


def as_it_is(text: str) -> str:
    """Show a text as it stands: to whom it belongs."""
    return text


def show_json(body: bytes, show: Show) -> bytes:
    """Return JSON as it is shown. A redactor hides a long line as a whole if it would cost too much
    time to look through it: then the JSON is shown line by line, and in its members.
    """
    shown = show(body.decode()).encode()
    if HIDDEN_LINE not in shown:
        return shown
    lines = show(msgspec.json.format(body, indent=1).decode()).encode()
    return _by_members(msgspec.json.format(lines, indent=-1), show)


def _by_members(body: bytes, show: Show) -> bytes:
    """Return JSON as it is shown; if it would be hidden as a whole, in its members. A name stays
    with its value, and plain values of a list stay together, because they tell of each other.
    """
    shown = show(body.decode()).encode()
    if HIDDEN_LINE not in shown:
        return shown
    if body.startswith(b"{"):
        fields = msgspec.json.decode(body, type=dict[str, Raw])
        if len(fields) > 1:
            alone = (_by_members(dump_bytes({name: value}), show) for name, value in fields.items())
            return b"{%b}" % b",".join(one[1:-1] for one in alone)
        ((name, value),) = fields.items()
        return b"{%b:%b}" % (
            show(dump_bytes(name).decode()).encode(),
            _by_members(bytes(value), show),
        )
    if body.startswith(b"["):
        items = [bytes(item) for item in msgspec.json.decode(body, type=list[Raw])]
        if all(item[:1] in b"{[" for item in items):
            return b"[%b]" % b",".join(_by_members(item, show) for item in items)
    return shown


def make_reveal(show: Show) -> Reveal:
    """Return what makes a message ready to be shown; the same text is made ready once.

    The text of a message has the values of a call without their names. A name may be all that
    tells of a secret, so arguments go through `show` before the names are gone.
    """
    if show is as_it_is:
        return lambda written: Revealed(written.text, written.text)
    known: dict[bytes | str, Revealed] = {}

    def reveal(written: Written) -> Revealed:
        key = written.body if written.calls else written.text
        found = known.get(key)
        if found is None:
            text = show(_without_secret_arguments(written, show) if written.calls else written.text)
            same = text == written.text
            words = written.text if same else PLACEHOLDER.sub(HIDDEN, text)
            found = known[key] = Revealed(written.text if same else text, words)
        return found

    return reveal


def _without_secret_arguments(written: Written, show: Show) -> str:
    (message,) = dialect_named(written.dialect).decode([parse(written.body)], 0)
    return _hidden_arguments(message, show)


def reveal_text(message: Message, show: Show) -> str:
    """Return the text of a message that is in no store, ready to be shown."""
    return show(_hidden_arguments(message, show))


def _hidden_arguments(message: Message, show: Show) -> str:
    parts = tuple(
        replace(part, arguments=show(part.arguments)) if isinstance(part, ToolCall) else part
        for part in message.parts
    )
    return extract_searchable(replace(message, parts=parts)).text


def redactor_of(
    store: Store, *, personal: bool = False, policy: RedactionPolicy | None = None
) -> Redactor:
    """Return a redactor whose placeholders are made by the key of the store.

    `policy` says what it hides. Without one, personal data stays unless it is asked for: the agent
    goes on with it. A store that is only read and has no key yet gets the public one.
    """
    key = store.redaction_key()
    return make_redactor(replace(policy or RedactionPolicy(personal=personal), key=key))
