"""Streaming: wherever the pieces are cut, the same comes out."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.redaction import RedactionPolicy, Redactor
from foldaway.redaction.examples import load_examples
from foldaway.redaction.redactor import HOLD, Stream
from foldaway.redaction.rules import built_in_rules

KEYED = Redactor(RedactionPolicy(key="test"))
EXAMPLES = [
    *load_examples()["fields"].true,
    *(
        parts
        for rule in built_in_rules() if rule.family != "mention"
        for parts in load_examples()[rule.name].true
    ),
]  # fmt: skip
FILLER = b"plain words of filler\n" * (HOLD // 22 + 1)
examples = st.integers(0, len(EXAMPLES) - 1).map(lambda n: EXAMPLES[n])


def whole(data: bytes) -> bytes:
    return KEYED(data.decode("utf-8", "surrogatepass")).encode("utf-8", "surrogatepass")


def streamed(pieces: list[bytes], block: int = 1) -> bytes:
    stream = Stream(KEYED, block=block)
    return b"".join([*(stream.feed(piece) for piece in pieces), stream.finish()])


def settled_at(data: bytes, cut: int) -> list[bytes]:
    """Return two pieces such that what is settled first ends after `cut` bytes of `data`."""
    text = FILLER + data + b"\n" + FILLER
    first = len(FILLER) + cut + HOLD
    return [text[:first], text[first:]]


@given(examples, st.data())
def test_a_secret_is_found_at_every_cut(parts: tuple[str, ...], data: st.DataObject) -> None:
    """The stream gives what the whole text gives, for a cut anywhere in a secret."""
    text = "".join(parts).encode("utf-8", "surrogatepass")
    cut = data.draw(st.integers(0, len(text)))
    pieces = settled_at(text, cut)
    assert streamed(pieces) == whole(b"".join(pieces))


@pytest.mark.slow
@each_row("number", range(0, len(EXAMPLES), 40))
def test_every_cut_of_some_texts(number: int) -> None:
    """The same, for each cut of a few examples."""
    text = "".join(EXAMPLES[number]).encode("utf-8", "surrogatepass")
    wanted = whole(b"".join(settled_at(text, 0)))
    for cut in range(0, len(text) + 1, 3):
        assert streamed(settled_at(text, cut)) == wanted


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_bytes_that_are_no_text_pass_through_whole(pieces: list[bytes]) -> None:
    """Pieces of any bytes give what they give together."""
    together = Stream(KEYED)
    assert streamed(pieces) == together.feed(b"".join(pieces)) + together.finish()


def test_a_long_stream_takes_constant_memory() -> None:
    """Sixteen megabytes need no more memory than a few blocks."""
    block = (b"2026-01-01 INFO request id=4711 took 12 ms\n" * 4000)[:65536]
    stream = KEYED.stream()
    stream.feed(block * 20)
    tracemalloc.start()
    for _ in range(256):
        stream.feed(block)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 << 20


def test_a_key_longer_than_what_is_kept_is_hidden_to_its_end() -> None:
    """A secret that does not end is hidden as far as it goes."""
    body = b"QUJDREVGR0hJSktMTU5PQUJDREVGR0hJSktMTU5P\n"
    text = (
        b"-----BEGIN RSA PRIVATE KEY-----\n"
        + body * 20_000
        + b"-----END RSA PRIVATE KEY-----\nafter"
    )
    out = streamed([text[at : at + 65_536] for at in range(0, len(text), 65_536)], block=1 << 18)
    assert body.strip() not in out
    assert out.endswith(b"after")


def test_counts_are_kept() -> None:
    """The report of a stream counts each secret once."""
    stream = KEYED.stream()
    stream.feed(b"password=hunter2024! and token=abc123def456ghi\n")
    stream.finish()
    assert sum(stream.counts.values()) == 2


def test_a_secret_on_every_line_is_no_reason_to_hide_the_lines() -> None:
    """A large piece is read in blocks, each with an account of its own."""
    line = b"2026-01-01T00:00:00Z INFO request user=jane token=Ab3dEf6hIj9lMn2pQr5t ok\n"
    stream = KEYED.stream()
    out = stream.feed(line * 30_000) + stream.finish()
    assert b"[redacted:line]" not in out
    assert out.count(b"[redacted:token:") == 30_000
