"""One message of a conversation as HTML: words, thinking, calls, results and images.

The HTML has no script and no inline style, loads nothing, and shows hostile content as text.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, assert_never

import msgspec
from markupsafe import Markup

from foldaway.gateway.inspector.markdown import markdown
from foldaway.gateway.inspector.safe_text import Address, Rendering, first_words, label
from foldaway.gateway.inspector.tool_calls import about_call, render_call, render_output, size_of
from foldaway.reduction import body_start, plural
from foldaway.sessions import TOOL_CHARS, Show, as_it_is
from foldaway.transcript import Media, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult

MOST_PARTS: Final = 200
"""Of one message, or of one result, that are shown; the longest of the real ones has 19."""
MOST_IMAGE_CHARS: Final = 2_000_000
"""Of the base64 of an image that is shown: 1.5 MB, more than a screenshot of a large screen."""
_PREVIEW_CHARS: Final = 80
"""Of the first line of a result, beside its size."""
_KIND_CHARS: Final = 60
"""Of the kind of a part that nobody knows."""
_URL_CHARS: Final = 500
"""Of the address of an image; longer ones are data."""
_SIGNATURES: Final = {
    "image/png": (b"\x89PNG\r\n\x1a\n", b""),
    "image/jpeg": (b"\xff\xd8\xff", b""),
    "image/gif": (b"GIF8", b""),
    "image/webp": (b"RIFF", b"WEBP"),
}
"""How the data of each kind of image that is shown begins, and what is there after 8 bytes."""


def _no_address(reference: str) -> str:
    return ""


def render_message(
    message: Message,
    *,
    show: Show,
    calls: Mapping[str, ToolCall] | None = None,
    more: str = "",
    address: Address = _no_address,
) -> Markup:
    """Return the HTML of a message body.

    Every text passes through `show` first. `calls` are those that results in this message answer,
    by their ids. `more` is the URL of the whole text. `address` returns the URL of what a
    reference stands for. The cost is bounded, whatever the size of the message.
    """
    rendering = Rendering(show, address, more)
    return Markup("".join(_parts(message.parts, calls or {}, rendering)))


def _parts(
    parts: Sequence[Part], calls: Mapping[str, ToolCall], rendering: Rendering
) -> Iterator[str]:
    for part in parts[:MOST_PARTS]:
        yield _part(part, calls, rendering)
    if len(parts) > MOST_PARTS:
        yield rendering.ending(f"{len(parts) - MOST_PARTS:,} more parts")


def _part(part: Part, calls: Mapping[str, ToolCall], rendering: Rendering) -> str:
    match part:
        case Text(text=text):
            return _words(text, rendering)
        case Thinking():
            return _thinking(part, rendering)
        case ToolCall():
            return render_call(part, rendering)
        case ToolResult():
            return _result(part, calls, rendering)
        case Media():
            return _media(part, rendering)
        case Opaque():
            return _opaque(part, rendering)
        case _:
            assert_never(part)


def _words(text: str, rendering: Rendering) -> str:
    excerpt = rendering.take(text)
    html = markdown(excerpt.text, rendering) if excerpt.text.strip() else ""
    return html + rendering.rest(excerpt.left_chars)


def _thinking(part: Thinking, rendering: Rendering) -> str:
    if not part.text:
        return '<p class="thinking">Thinking, encrypted by the provider</p>'
    summary = f"<summary>Thinking <small>{size_of(part.text)}</small></summary>"
    return f'<details class="thinking">{summary}{_words(part.text, rendering)}</details>'


def _result(part: ToolResult, calls: Mapping[str, ToolCall], rendering: Rendering) -> str:
    call = calls.get(part.call_id)
    named = part.name if call is None else call.name
    text = _result_text(part)
    others = [inner for inner in part.parts if not isinstance(inner, Text)]
    name = f'<bdi class="tool">{rendering.label(named, TOOL_CHARS) or "result"}</bdi>'
    failed = ' <strong class="failed">failed</strong>' if part.is_error else ""
    size = f" <small>{size_of(text) if text or not others else plural(len(others), 'part')}</small>"
    excerpt = rendering.take(text)
    output = excerpt.text[body_start(excerpt.text) :]
    first = first_words(output, as_it_is, _PREVIEW_CHARS)
    preview = f' <bdi class="about">{label(first)}</bdi>' if first else ""
    body = render_output(excerpt, call, rendering) if text else ""
    body += "".join(_parts(others, calls, rendering))
    state = "result failed" if part.is_error else "result"
    summary = f"<summary>{name}{failed}{size}{preview}</summary>"
    return f'<details class="{state}">{summary}{body}</details>'


def _result_text(part: ToolResult) -> str:
    return "\n".join(inner.text for inner in part.parts if isinstance(inner, Text))


def _media(part: Media, rendering: Rendering) -> str:
    named = rendering.label(f"{part.kind} {part.media_type}", _KIND_CHARS)
    data = part.data
    if part.url.startswith("data:"):
        data = part.url.partition(",")[2]
    elif part.url and not data:
        where = rendering.mark_up(first_words(part.url, rendering.show, _URL_CHARS))
        return f'<p class="media">{named}, not loaded: <code>{where}</code></p>'
    size = f"{len(data) * 3 // 4:,} bytes"
    media_type = _image_type(part, data)
    if not media_type:
        return f'<p class="media">{named}, {size}, not shown</p>'
    source = f"data:{media_type};base64,{data}"
    return f'<img class="media" src="{source}" alt="{media_type}, {size}" loading="lazy">'


def _image_type(part: Media, data: str) -> str:
    """Return what an image is by its data; "" if it is not shown."""
    if part.kind != "image" or part.media_type not in ("", "image/jpg", *_SIGNATURES):
        return ""
    if not data or len(data) > MOST_IMAGE_CHARS:
        return ""
    try:
        decoded = binascii.a2b_base64(data, strict_mode=True)
    except ValueError:
        return ""
    for media_type, (first, then) in _SIGNATURES.items():
        if decoded.startswith(first) and decoded[8:].startswith(then):
            return media_type
    return ""


def _opaque(part: Opaque, rendering: Rendering) -> str:
    kind = rendering.label(part.kind, _KIND_CHARS) or "unknown part"
    try:
        size = f", {len(msgspec.json.encode(part.wire)):,} bytes"
    except (TypeError, UnicodeEncodeError, RecursionError):
        size = ""
    return f'<p class="opaque">{kind}{size}</p>'


def one_line(message: Message, show: Show, chars: int = 160) -> str:
    """Return a message as one line of plain text, for lists: redacted, not yet escaped.

    Its words come first; without any, what it calls, what it got, or what it holds.
    """
    order = (Text, ToolCall, ToolResult, Thinking, Media, Opaque)
    rendering = Rendering(show, _no_address, "")
    for kind in order:
        for part in message.parts[:MOST_PARTS]:
            if type(part) is kind and (line := _line_of(part, rendering, chars)):
                return line
    return ""


def _line_of(part: Part, rendering: Rendering, chars: int) -> str:
    show = rendering.show
    match part:
        case Text(text=text) | Thinking(text=text):
            return first_words(text, show, chars)
        case ToolCall(name=name):
            return first_words(f"{name} {about_call(part, rendering)}", show, chars)
        case ToolResult():
            return first_words(_result_text(part), show, chars)
        case Media(kind=kind, media_type=media_type):
            return first_words(f"{kind} {media_type}", show, chars)
        case Opaque(kind=kind):
            return first_words(kind, show, chars)
