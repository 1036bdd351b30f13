"""Every law of check, repair and the dialects on each of many examples: `make soak`."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.strategies import PROVIDERS, broken_lists, valid_lists

from foldaway import check, dump, load, repair
from foldaway.dialects.document import Document
from foldaway.dialects.loading import dialect_named
from foldaway.dialects.profiles import profile_named
from foldaway.errors import CannotRepair, NotReadable
from foldaway.transcript import Thinking, ToolCall, Transcript, groups, survey

pytestmark = pytest.mark.soak
EVERY_PROVIDER = pytest.mark.parametrize("provider", PROVIDERS)


@EVERY_PROVIDER
@given(data=st.data())
def test_every_law_of_a_list_that_its_provider_accepts(provider: str, data: st.DataObject) -> None:
    """Valid in, the same out: no violation, the same object, the same bytes, parts that encode to
    what they were read from, groups that part no call from its result, nothing mutated."""
    items = data.draw(valid_lists(provider))
    before = deepcopy(items)
    dialect = dialect_named(profile_named(provider).dialect)
    assert check(items, provider=provider) == []
    assert repair(items, provider=provider).messages is items
    transcript = load(items, dialect=dialect.name)
    assert all(out is given for out, given in zip(dump(transcript), items, strict=True))
    assert [dialect.encode(message.rewritten()) for message in transcript.messages] == items
    _assert_groups_hold(transcript)
    text = json.dumps(items).encode()
    document = Document.read(text, dialect=dialect.name)
    assert document.write([record.transcript for record in document.records]) == text
    assert items == before


@EVERY_PROVIDER
@given(data=st.data())
def test_every_law_of_a_list_that_its_provider_refuses(provider: str, data: st.DataObject) -> None:
    """Broken in: valid out, also through JSON and a second time; signed fields whole or gone;
    untouched messages the same objects; or one of two named errors; nothing mutated."""
    broken = data.draw(broken_lists(provider))
    before = deepcopy(broken.items)
    dialect = profile_named(provider).dialect
    try:
        repaired = repair(broken.items, provider=provider)
    except (CannotRepair, NotReadable):
        assert broken.items == before
        return
    assert broken.items == before
    assert check(repaired.messages, provider=provider) == []
    assert check(json.loads(json.dumps(repaired.messages)), provider=provider) == []
    assert repair(repaired.messages, provider=provider).messages is repaired.messages
    for message, item in zip(repaired.transcript.messages, repaired.messages, strict=True):
        if message.position >= 0 and item == broken.items[message.position]:
            assert item is broken.items[message.position]
    if "lone-surrogate" not in broken.breakages:
        found = iter(_signed(load(broken.items, dialect=dialect)))
        assert all(any(kept == was for was in found) for kept in _signed(repaired.transcript))
    _assert_groups_hold(load(broken.items, dialect=dialect))


def _assert_groups_hold(transcript: Transcript) -> None:
    index = survey(transcript.messages)
    found = groups(transcript.messages)
    covered = [at for group in found for at in range(group.start, group.stop)]
    assert covered == list(range(len(transcript.messages)))
    home = {
        at: number for number, group in enumerate(found) for at in range(group.start, group.stop)
    }
    for (at, _), answer in zip(index.calls, index.answer_of, strict=True):
        if answer >= 0:
            assert home[at] == home[index.results[answer][0]]


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
