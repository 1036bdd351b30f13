"""The laws of check, repair and the dialects, over generated transcripts of every provider."""

from __future__ import annotations

import gzip
import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tests.testing.strategies import PROVIDERS, Broken, broken_lists, valid_bodies, valid_lists

from foldaway import check, dump, load, repair
from foldaway.dialects.checking import Repaired, check_transcript, repair_transcript
from foldaway.dialects.document import Document, Record
from foldaway.dialects.jsontext import split_list, split_object
from foldaway.dialects.loading import dialect_named
from foldaway.dialects.profiles import profile_for, profile_named
from foldaway.errors import CannotRepair, NotReadable
from foldaway.testing import BREAKAGES
from foldaway.transcript import Thinking, ToolCall, Transcript

EVERY_PROVIDER = pytest.mark.parametrize("provider", PROVIDERS)
DIALECTS = tuple(provider for provider in PROVIDERS if provider != "strict")
EVERY_DIALECT = pytest.mark.parametrize("dialect", DIALECTS)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ("role", "content", "type", "text", "parts", "tool_calls", "from", "x")
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@EVERY_PROVIDER
@given(data=st.data())
def test_a_list_that_the_provider_accepts_has_no_violations(
    provider: str, data: st.DataObject
) -> None:
    """Valid in: check finds nothing, and repair gives back the very object."""
    items = data.draw(valid_lists(provider))
    assert check(items, provider=provider) == []
    assert repair(items, provider=provider).messages is items


@EVERY_PROVIDER
@given(data=st.data())
def test_a_request_that_the_provider_accepts_has_no_violations(
    provider: str, data: st.DataObject
) -> None:
    """The same for a whole request body, with the rules about system, tools and settings."""
    body = data.draw(valid_bodies(provider))
    assert check(body, provider=provider) == []
    assert repair(body, provider=provider).messages is body


@EVERY_PROVIDER
@given(data=st.data())
def test_a_list_that_the_provider_refuses_has_violations(
    provider: str, data: st.DataObject
) -> None:
    """One breakage that the provider is sure to refuse is never overlooked."""
    refused = [name for name, breakage in BREAKAGES.items() if provider in breakage.refused_by]
    broken = data.draw(broken_lists(provider, breakages=refused, most=1))
    assert check(broken.items, provider=provider) != []


@EVERY_PROVIDER
@given(data=st.data())
def test_a_repaired_list_is_valid_and_stays_as_it_is(provider: str, data: st.DataObject) -> None:
    """Broken in: a list that check accepts, also after a trip through JSON; or CannotRepair.

    Repair is idempotent: the second time it returns the object that it was given.
    """
    repaired = _repaired(data.draw(broken_lists(provider)))
    assert check(repaired.messages, provider=provider) == []
    again = json.loads(json.dumps(repaired.messages))
    assert again == repaired.messages
    assert check(again, provider=provider) == []
    assert repair(repaired.messages, provider=provider).messages is repaired.messages


@EVERY_PROVIDER
@given(data=st.data())
def test_a_repaired_request_is_valid(provider: str, data: st.DataObject) -> None:
    """A request body with a broken list in it is mended in its frame; other fields stay."""
    body = data.draw(valid_bodies(provider))
    key = dialect_named(profile_named(provider).dialect).list_key
    broken = data.draw(broken_lists(provider))
    repaired = _repaired(Broken({**body, key: broken.items}, broken.breakages, provider))  # pyright: ignore[reportArgumentType]
    assert check(repaired.messages, provider=provider) == []
    assert list(repaired.messages) == list(body)


@EVERY_PROVIDER
@given(data=st.data())
def test_repair_leaves_alone_what_it_need_not_touch(provider: str, data: st.DataObject) -> None:
    """The input is never mutated, also where repair fails; messages without fault come back as
    the same objects."""
    broken = data.draw(broken_lists(provider))
    before = deepcopy(broken.items)
    try:
        repaired = repair(broken.items, provider=provider)
    except CannotRepair:
        repaired = None
    assert broken.items == before
    if repaired is None:
        return
    for message, item in zip(repaired.transcript.messages, repaired.messages, strict=True):
        assert message.position < len(broken.items)
        if message.position >= 0 and item == broken.items[message.position]:
            assert item is broken.items[message.position]


@EVERY_PROVIDER
@given(data=st.data())
def test_every_repair_says_what_it_did(provider: str, data: st.DataObject) -> None:
    """A list that changed comes with actions, each under the name of a rule of the profile."""
    broken = data.draw(broken_lists(provider))
    repaired = _repaired(broken)
    rules = {rule.name for rule in profile_named(provider).rules}
    assert (repaired.messages is broken.items) == (not repaired.actions)
    assert {action.rule for action in repaired.actions} <= rules


@pytest.mark.parametrize("provider", ["anthropic", "openai-responses", "gemini"])
@given(data=st.data())
def test_signed_fields_are_whole_or_gone_after_repair(provider: str, data: st.DataObject) -> None:
    """Signed thinking survives only with every field that it came with; the signature that a
    Gemini call carries survives letter for letter; both stay in order."""
    broken = data.draw(broken_lists(provider))
    assume("lone-surrogate" not in broken.breakages)
    repaired = _repaired(broken)
    after = _signed(repaired.transcript)
    before = iter(_signed(load(broken.items, dialect=profile_named(provider).dialect)))
    assert all(any(kept == found for found in before) for kept in after)


@EVERY_DIALECT
@given(data=st.data())
def test_what_was_loaded_is_dumped_as_the_same_objects(dialect: str, data: st.DataObject) -> None:
    """`dump(load(x))` equals x and holds the very elements of x, however broken they are."""
    items = data.draw(valid_lists(dialect) | broken_lists(dialect).map(lambda found: found.items))
    dumped = dump(load(items, dialect=dialect))
    assert dumped == items
    assert all(out is given for out, given in zip(dumped, items, strict=True))


@EVERY_DIALECT
@given(data=st.data())
def test_a_message_written_anew_from_its_parts_is_the_same(
    dialect: str, data: st.DataObject
) -> None:
    """Encoding from parts loses and changes nothing of a message that had no flaw."""
    items = data.draw(valid_lists(dialect))
    encode = dialect_named(dialect).encode
    messages = load(items, dialect=dialect).messages
    assert [encode(message.rewritten()) for message in messages] == items


@EVERY_DIALECT
@given(data=st.data())
def test_the_dialect_of_a_request_is_found(dialect: str, data: st.DataObject) -> None:
    """A whole body is recognized without being told what it is."""
    body = data.draw(valid_bodies(dialect))
    assert load(body).dialect == dialect


@EVERY_PROVIDER
@given(items=st.lists(JSON, min_size=1, max_size=4))
@example(items=[{"role": "user", "content": None}])
@example(items=[{"role": []}])
@example(items=[False])
def test_any_json_list_is_checked_and_repaired_or_refused(provider: str, items: list[Any]) -> None:
    """No JSON value makes check raise; repair gives a valid list or one of two named errors."""
    check(items, provider=provider)
    try:
        repaired = repair(items, provider=provider)
    except (CannotRepair, NotReadable):
        return
    assert check(repaired.messages, provider=provider) == []


@EVERY_DIALECT
@given(data=st.data())
def test_a_document_is_written_as_the_bytes_that_were_read(
    dialect: str, data: st.DataObject
) -> None:
    """Bytes out equal bytes in, for every layout, spacing, line end, mark and compression."""
    text = data.draw(_documents(dialect))
    packed = gzip.compress(text) if data.draw(st.booleans()) else text
    document = Document.read(packed, dialect=dialect)
    assert document.warnings == ()
    transcripts = [record.transcript for record in document.records]
    assert document.write(transcripts) == text


@EVERY_DIALECT
@given(data=st.data())
def test_untouched_messages_keep_their_bytes_through_a_repair(
    dialect: str, data: st.DataObject
) -> None:
    """After a repair the bytes of every message without fault stand in the output, in order, and
    the output is a document that check accepts."""
    document = Document.read(data.draw(_documents(dialect, broken=True)), dialect=dialect)
    profile = profile_for(dialect)
    try:
        mended = [repair_transcript(record.transcript, profile)[0] for record in document.records]
    except CannotRepair:
        assume(False)
        raise
    assume(all(transcript.messages for transcript in mended))
    written = document.write(mended)
    at = 0
    for record, transcript in zip(document.records, mended, strict=True):
        slices = _slices(record)
        was = record.transcript.messages
        for message, item in zip(transcript.messages, _elements(transcript), strict=True):
            if message.position >= 0 and item == was[message.position].wire:
                own = slices[message.position]
                at = written.index(own, at) + len(own)
    for record in Document.read(written, dialect=dialect).records:
        assert check_transcript(record.transcript, profile) == []


def _repaired(broken: Broken) -> Repaired:
    """Return the repair, or give the example up where nothing could be mended."""
    try:
        return repair(broken.items, provider=broken.provider)
    except (CannotRepair, NotReadable):
        assume(False)
        raise


def _signed(transcript: Transcript) -> list[Any]:
    """Return what is signed: thinking with every field of its own, and the signatures of calls.

    Private keys are not the provider's, and the signature that Gemini documents for calls without
    one is not a signature.
    """
    return [
        {key: value for key, value in (part.wire or {}).items() if not key.startswith("_")}
        if isinstance(part, Thinking)
        else part.signature
        for message in transcript.messages
        for part in message.parts
        if isinstance(part, (Thinking, ToolCall))
        and part.signature not in ("", "skip_thought_signature_validator")
    ]


def _elements(transcript: Transcript) -> list[Any]:
    value = dump(transcript)
    return value if isinstance(value, list) else value[transcript.frame.key]


def _slices(record: Record) -> list[bytes]:
    """Return the bytes of each message of a record."""
    key = record.transcript.frame.key
    if not key and record.source.lstrip()[:1] == b"{":
        return [line.strip() for line in record.source.split(b"\n") if line.strip()]
    held = split_object(record.source)[key] if key else record.source
    return [bytes(piece) for piece in split_list(held)]


@st.composite
def _documents(draw: st.DrawFn, dialect: str, *, broken: bool = False) -> bytes:
    """Return a file of one or more transcripts as some program may have written it."""
    lists = (
        broken_lists(dialect, most=1).map(lambda found: found.items)
        if broken
        else valid_lists(dialect)
    )
    dumped = _Style(draw)
    layout = draw(st.sampled_from(("list", "body", "message lines", "record lines", "record list")))
    key = dialect_named(dialect).list_key
    match layout:
        case "list":
            text = dumped(draw(lists))
        case "body":
            text = dumped({**draw(valid_bodies(dialect)), key: draw(lists)})
        case "message lines":
            items = draw(lists)
            assume(len(items) > 1 and all(isinstance(item, dict) for item in items))
            text = dumped.lines(items)
        case "record lines":
            text = dumped.lines([{"id": n, key: draw(lists)} for n in range(2)])
        case _:
            text = dumped([{"id": n, key: draw(lists)} for n in range(2)])
    return (b"\xef\xbb\xbf" if draw(st.integers(0, 5)) == 5 else b"") + text


class _Style:
    """How a program writes JSON: spacing, escapes, line ends."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._ascii = draw(st.booleans())
        self._indent = draw(st.sampled_from((None, None, 2, "\t")))
        self._tight = draw(st.booleans())
        self._newline = draw(st.sampled_from(("\n", "\r\n")))
        self._ends = draw(st.booleans())

    def __call__(self, value: Any) -> bytes:
        indent = self._indent
        text = self._json(value, indent).replace("\n", self._newline)
        return (text + self._newline * self._ends).encode(errors="surrogatepass")

    def lines(self, values: list[Any]) -> bytes:
        text = self._newline.join(self._json(value, None) for value in values)
        return (text + self._newline * self._ends).encode(errors="surrogatepass")

    def _json(self, value: Any, indent: Any) -> str:
        tight = (",", ":") if self._tight and indent is None else None
        text = json.dumps(value, ensure_ascii=self._ascii, indent=indent, separators=tight)
        if "\ud83d" in text:
            return json.dumps(value, indent=indent, separators=tight)
        return text
