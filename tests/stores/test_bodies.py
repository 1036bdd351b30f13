"""Packing: any bytes come back, what repeats costs nothing, and time grows with the size only."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from contextlib import suppress

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.stores.bodies import RUN_BYTES, address_of, expand, pack, squeeze, unpack
from foldaway.stores.database import Packed, Row, Value


class Parts:
    """A table of parts in memory."""

    def __init__(self, packed: Packed) -> None:
        self._rows: list[Row] = [(at, part.packed) for at, part in packed.parts]

    def rows(self, sql: str, values: Sequence[Value] = ()) -> list[Row]:
        return self._rows

    def row(self, sql: str, values: Sequence[Value] = ()) -> Row | None:
        raise NotImplementedError

    def run(self, sql: str, values: Sequence[Value] = ()) -> int:
        raise NotImplementedError

    def many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        raise NotImplementedError


def back(packed: Packed) -> tuple[bytes, bytes]:
    return unpack(Parts(packed), "", 1, len(packed.parts), packed.packed)


runs = st.builds(
    lambda unit, count: (unit * count)[: count + 7],
    st.sampled_from([b"A", b"QUJD", b"a-_9"]),
    st.integers(RUN_BYTES - 10, RUN_BYTES + 2000),
)


@given(st.lists(st.one_of(st.binary(max_size=40), runs), max_size=6).map(b"".join), st.text())
def test_a_body_and_its_text_come_back(body: bytes, text: str) -> None:
    """Whatever was cut out and wherever it stood."""
    assert back(pack(body, text)) == (body, text.encode())


@given(st.binary(max_size=2000))
def test_any_bytes_are_squeezed_and_expanded(content: bytes) -> None:
    """Never longer than one byte more."""
    packed = squeeze(content)
    assert expand(packed) == content
    assert len(packed) <= len(content) + 1


def test_an_address_tells_body_from_text() -> None:
    """The same bytes parted elsewhere are another content."""
    assert pack(b"ab", "c").address != pack(b"a", "bc").address
    assert address_of(b"a", is_part=True) != address_of(b"a", is_part=False)


@given(st.text(min_size=1), st.booleans())
def test_a_text_that_stands_in_its_body_comes_back(text: str, ascii_only: bool) -> None:
    """However its characters are written there."""
    body = json.dumps({"role": "user", "content": text}, ensure_ascii=ascii_only).encode()
    assert back(pack(body, text)) == (body, text.encode())


def test_the_text_beside_its_body_costs_little() -> None:
    """A place, where it stands there as it is; otherwise a repetition, which packing finds."""
    words = random.Random(1)
    text = " ".join("".join(words.choices("abcdefghij", k=6)) for _ in range(500))
    body = b'{"role":"user","content":"' + text.encode() + b'"}'
    alone = len(pack(body, "").packed)
    assert len(pack(body, text).packed) < alone + 16
    assert len(pack(body, f"Title\n{text}").packed) < 1.05 * alone


@given(st.binary(max_size=60))
def test_any_bytes_in_the_place_of_a_body_are_read_or_told(content: bytes) -> None:
    """What a damaged file holds never comes out as an error of another kind."""
    with suppress(zstandard.ZstdError):
        unpack(Parts(Packed(b"", 0, b"")), "", 1, 0, b"\0" + content)


@each_row("damaged", [b"\1not a frame", b"\7x", b"\1"])
def test_a_damaged_body_is_told(damaged: bytes) -> None:
    """It is never taken for another content."""
    with pytest.raises(zstandard.ZstdError):
        expand(damaged)


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", [b"A" * (RUN_BYTES - 1) + b" ", b"A", b"ab c", b"\0\xff", b"A" * RUN_BYTES + b"!"]
)
def test_packing_is_linear(unit: bytes) -> None:
    """Four times the bytes take no more than about four times as long, whatever stands in them."""

    def seconds(size: int) -> float:
        body = (unit * (size // len(unit) + 1))[:size]
        start = time.process_time()
        pack(body, "")
        return time.process_time() - start

    small = min(seconds(1_000_000) for _ in range(3))
    assert min(seconds(4_000_000) for _ in range(3)) < 12 * small + 0.05
