"""Documents: which layouts are told apart, what is refused, and which bytes stay."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from msgspec.structs import replace
from tests.testing.rows import each_row

from foldaway.dialects.document import Document
from foldaway.errors import NotReadable
from foldaway.testing import assistant, call, result, system, talk, user
from foldaway.transcript import Message, Text, Transcript

TALK = talk(
    system("Be brief."), user("Lies a.py"), assistant("Ja.", call("read_file", path="ä.py")),
    result("x = 1\n"), assistant("Fertig: \\ud800 ist Text. 🎉"),
)  # fmt: skip
ITEMS = TALK.wire("openai-chat")


def dumped(value: Any, **form: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, **form).encode()


def lines(values: list[Any], newline: bytes = b"\n") -> bytes:
    return newline.join(dumped(value) for value in values) + newline


LAYOUTS = [
    ("value", dumped(ITEMS)),
    ("value", dumped(ITEMS, indent=2) + b"\n"),
    ("value", dumped({"model": "m", "messages": ITEMS, "tools": []}, indent="\t")),
    ("value", dumped({"messages": ITEMS})),
    ("value", dumped({"messages": ITEMS}) + b"\n"),
    ("message lines", lines(ITEMS)),
    ("message lines", lines(ITEMS, b"\r\n")),
    ("message lines", lines(ITEMS[1:2])),
    ("message lines", b"\n" + lines(ITEMS).replace(b"\n", b"\n\n")),
    ("record lines", lines([{"id": 1, "messages": ITEMS}, {"id": 2, "messages": ITEMS}])),
    ("record lines", lines([{"messages": ITEMS}, {"messages": ITEMS}], b"\r\n").strip()),
    ("record list", dumped([{"messages": ITEMS}, {"messages": ITEMS}], indent=1)),
    ("record list", dumped([{"messages": ITEMS}])),
]


@each_row(("layout", "data"), LAYOUTS)
@each_row("packed", [False, True])
@each_row("mark", [b"", b"\xef\xbb\xbf"])
def test_every_layout_is_recognized_and_written_as_it_was_read(
    layout: str, data: bytes, packed: bool, mark: bytes
) -> None:
    """The layout is found from the data, and without a change bytes out equal bytes in."""
    text = mark + data
    document = Document.read(gzip.compress(text) if packed else text)
    assert (document.layout, document.compressed, document.warnings) == (layout, packed, ())
    assert document.write(_transcripts(document)) == text
    assert [record.transcript.messages[-1].wire["content"] for record in document.records] == [
        (ITEMS[1] if data == lines(ITEMS[1:2]) else ITEMS[-1])["content"]
    ] * len(document.records)


@each_row(("layout", "data"), LAYOUTS)
def test_a_changed_message_alone_gets_new_bytes(layout: str, data: bytes) -> None:
    """The bytes of every other message stand in the output as they stood in the input."""
    document = Document.read(data)
    changed = [_with_last_changed(transcript) for transcript in _transcripts(document)]
    written = document.write(changed)
    again = Document.read(written)
    assert again.layout == layout
    for before, after in zip(document.records, again.records, strict=True):
        *kept, last = [message.wire for message in after.transcript.messages]
        assert kept == [message.wire for message in before.transcript.messages[:-1]]
        assert last["content"] == "changed"
    for item in _slices(data)[:-1]:
        assert written.count(item) == data.count(item)


def test_fields_around_the_messages_keep_their_bytes() -> None:
    """A change in the list leaves odd spacing and number forms elsewhere in the body alone."""
    body = b'{ "temperature":1.0e0 ,"messages": %s , "x":[1,  2],"y":"\\u00e9" }' % dumped(ITEMS)
    document = Document.read(body)
    written = document.write([_with_last_changed(document.records[0].transcript)])
    for piece in (b'"temperature":1.0e0', b"[1,  2]", b'"\\u00e9"'):
        assert piece in written


def test_a_removed_message_leaves_valid_json_in_the_same_style() -> None:
    """Separators of the input serve the output, also where there are fewer elements."""
    document = Document.read(dumped(ITEMS, indent=2))
    transcript = document.records[0].transcript
    written = document.write([transcript.with_messages(transcript.messages[:2])])
    assert written == dumped(ITEMS[:2], indent=2)


def test_one_untouched_record_of_several_keeps_its_bytes() -> None:
    """A repair of one session of a file does not rewrite the others."""
    first = b'{"messages" :[ {"role":"user","content":"a"}],"n":1.50}'
    document = Document.read(first + b"\n" + dumped({"messages": ITEMS}) + b"\n")
    one, two = _transcripts(document)
    written = document.write([one, _with_last_changed(two)])
    assert written.split(b"\n")[0] == first


def test_a_record_names_its_line() -> None:
    """Messages about a record can say where in the file it begins."""
    document = Document.read(b"\n" + lines([{"messages": ITEMS}, {"messages": ITEMS}]))
    assert [record.line for record in document.records] == [2, 3]


@each_row(
    ("torn", "kept"),
    [
        (b'{"role": "user", "content": "b"}{"role": "assis', 2),
        (b'{"role": "user", "content": "b"} {"role": "user", "content": "c"}', 3),
        (b'{"role": "user", "content": "b', 1),
        (b'tent": "b"}', 1),
        (b"interrupted", 1),
        (b"42", 1),
    ],
)
def test_a_torn_line_is_recovered_as_far_as_whole_objects_go(torn: bytes, kept: int) -> None:
    """What is whole is read, what is left over is named in a warning and not written again."""
    document = Document.read(b'{"role": "user", "content": "a"}\n' + torn + b"\n")
    messages = document.records[0].transcript.messages
    assert len(messages) == kept
    left = kept < 3
    assert [warning.split(":")[0] for warning in document.warnings] == ["line 2"] * left
    if left:
        written = document.write(_transcripts(document))
        assert len(Document.read(written).records[0].transcript.messages) == kept
        assert Document.read(written).warnings == ()


def test_a_torn_first_line_is_recovered_like_any_other() -> None:
    """Where the tear is makes no difference: what is whole is read, the rest is named."""
    document = Document.read(b'{"role": "user", "cont\n' + lines(ITEMS[1:3]))
    assert [warning.split(":")[0] for warning in document.warnings] == ["line 1"]
    assert [message.wire for message in document.records[0].transcript.messages] == ITEMS[1:3]


GLUED = [
    b'{"role":"user","content":"a"}{"role":"assistant","content":"b"}',
    *(b'{"role":"user","content":"%s"}' % word for word in (b"c", b"d", b"KEEP ME", b"e")),
]


@each_row("newline", [b"\n", b"\r\n", b"\r"])
def test_a_line_of_two_objects_does_not_shift_the_others(newline: bytes) -> None:
    """Every message that was not touched keeps its own bytes, and no other one's."""
    document = Document.read(newline.join(GLUED) + newline)
    transcript = document.records[0].transcript
    assert document.warnings == ()
    kept = [message for message in transcript.messages if message.wire["content"] != "d"]
    written = document.write([transcript.with_messages(kept)])
    assert [json.loads(line)["content"] for line in written.splitlines()] == [
        "a", "b", "c", "KEEP ME", "e",
    ]  # fmt: skip


def test_a_byte_order_mark_stays_where_something_changed() -> None:
    """The mark is the file's, not a message's."""
    document = Document.read(b"\xef\xbb\xbf" + dumped(ITEMS))
    written = document.write([_with_last_changed(document.records[0].transcript)])
    assert written.startswith(b"\xef\xbb\xbf[")


def test_a_key_that_stands_twice_keeps_the_rest_whole_beside_a_lone_surrogate() -> None:
    """The slices of a body are found by its fields, whatever order a repeated key leaves."""
    first = b'{"messages":[{"role":"user","content":"a"}],"b":2,'
    data = first + b'"messages":[{"role":"user","content":"\\ud800"}],"a":3}'
    document = Document.read(data)
    written = document.write([_with_last_changed(document.records[0].transcript)])
    assert json.loads(written) == {
        "messages": [{"role": "user", "content": "changed"}], "b": 2, "a": 3,
    }  # fmt: skip


DEEP = b"[" * 1_000_000 + b"]" * 1_000_000
"""More than any Python reads; 3.14 reads as much as its stack holds."""
UNREADABLE = [
    (b"", "is empty"),
    (b"  \n", "is empty"),
    (b"hello", "is not JSON"),
    (b"42", "is a number, not a transcript"),
    (b'"words"', "is a string, not a transcript"),
    (b"[", "ends early"),
    (b"[1, 2", "ends early"),
    (b'[{"role": "user", "content": "a"},]', "not JSON"),
    (b"[]", "no messages"),
    (b"{}", "no message list"),
    (b'{"messages": []}', "no messages"),
    (b'{"messages": {}}', "no message list"),
    (b'[{"role": "user", "content": NaN}]', "not JSON"),
    (b'[{"role": "user", "content": Infinity}]', "not JSON"),
    (DEEP, "nested too deeply"),
    (b'[{"role": "user", "content": ' + DEEP + b"}]", "nested too deep"),
    (b'{"messages": ' + DEEP + b"}", "nested too deeply"),
    ('[{"role": "user"}]'.encode("utf-16"), "UTF-16"),
    (b'[{"role": "user", "content": "\xff\xfe"}]', "UTF-8"),
    (b"\x1f\x8bnot really", "gzip"),
    (gzip.compress(dumped(ITEMS))[:-9], "gzip"),
    (b'{"role": "user", "content": "a"}\n[1]\n', "line 2"),
]


@each_row(("data", "said"), UNREADABLE, ids=range(len(UNREADABLE)))
def test_what_is_no_transcript_is_refused_in_one_clear_sentence(data: bytes, said: str) -> None:
    """Never another exception, never a guess: `NotReadable` with what is wrong and a remedy."""
    with pytest.raises(NotReadable) as caught:
        Document.read(data)
    assert said in str(caught.value)
    assert caught.value.remedy
    assert "\n" not in str(caught.value)


def test_a_lone_surrogate_is_read_and_its_bytes_are_kept() -> None:
    """A message that no UTF-8 text can hold is still read, and written as it was."""
    data = b'[{"role": "user", "content": "\\ud83d"}, {"role": "user", "content": "\\\\ud83d"}]'
    document = Document.read(data)
    first, second = document.records[0].transcript.messages
    assert (first.parts[0], second.parts[0]) == (
        replace(first.parts[0], text="\ud83d"),
        replace(second.parts[0], text="\\ud83d"),
    )
    assert document.write(_transcripts(document)) == data
    written = document.write([_with_last_changed(document.records[0].transcript)])
    assert b'{"role": "user", "content": "\\ud83d"}' in written


def test_a_message_of_fifty_megabytes_is_simply_handled() -> None:
    """Size alone is no error, and its bytes are not copied into anything but the output."""
    data = b'[{"role": "user", "content": "' + b"x" * 50_000_000 + b'"}]'
    document = Document.read(data)
    assert document.write(_transcripts(document)) is data


def _transcripts(document: Document) -> list[Transcript]:
    return [record.transcript for record in document.records]


def _with_last_changed(transcript: Transcript) -> Transcript:
    *kept, last = transcript.messages
    new: Message = last.with_parts((Text("changed"),))
    return transcript.with_messages([*kept, new])


def _slices(data: bytes) -> list[bytes]:
    """Return the bytes of the messages of the first list in `data`, found by a plain scan."""
    text = data.decode()
    scanner = json.JSONDecoder()
    found: list[bytes] = []
    at = text.index('{"role"') if '{"role"' in text else _indented(text)
    while at < len(text) and text[at] == "{":
        _, end = scanner.raw_decode(text, at)
        found.append(text[at:end].encode())
        at = end
        while at < len(text) and text[at] in ", \r\n\t":
            at += 1
    return found


def _indented(text: str) -> int:
    return text.rindex("{", 0, text.index('"role"'))


def test_one_item_of_responses_is_a_document_where_the_format_is_named() -> None:
    """An item without a role on a line of its own, as a repair may leave it."""
    line = b'{"type":"compaction","id":"c","encrypted_content":"x"}\n'
    found = Document.read(line, dialect="openai-responses")
    assert [len(record.transcript.messages) for record in found.records] == [1]
    assert found.write([record.transcript for record in found.records]) == line
