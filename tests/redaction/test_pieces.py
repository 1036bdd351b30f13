"""A token in pieces: put together from strings or broken into lines, all of it is found."""

from __future__ import annotations

import base64
import json
import re

from hypothesis import given
from hypothesis import strategies as st

from foldaway.redaction import RedactionPolicy, Redactor
from foldaway.redaction.matchers import MAX_PIECES, PIECE_REACH, pieces_after

KEYED = Redactor(RedactionPolicy(key="test"))
_OWN = re.compile(rb"[A-Za-z0-9_=.-]+")


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(claims: dict[str, str], signature: bytes) -> str:
    head = {"alg": "HS256", "typ": "JWT"}
    return ".".join(
        (*(encoded(json.dumps(one).encode()) for one in (head, claims)), encoded(signature))
    )


claims = st.dictionaries(
    st.sampled_from(["sub", "iss", "name", "role"]), st.text(max_size=40), min_size=1
)
tokens = st.builds(token, claims, st.binary(min_size=32, max_size=32))
STRINGS = ('" + "', '"\n    + "', '" "', "' '", '" .\n"', '" <<\n  "', '" & "', '"\n    b"', "\\\n",
           '\\"\n + \\"')  # fmt: skip
"""What may stand between two strings that are put together; the first character is their quote."""
LINES = ("\n", "\n    ", "\r\n", "\n# ", "\n// ", "\n * ", "\\\n    ")


@st.composite
def broken(draw: st.DrawFn, *, dots_only: bool) -> list[str]:
    """A token in pieces of some length, or cut before its dots only."""
    whole = draw(tokens)
    if dots_only:
        first, second, third = whole.split(".")
        return [first, f".{second}", f".{third}"]
    cuts = draw(st.lists(st.integers(24, max(len(whole) - 1, 24)), max_size=5).map(sorted))
    ends = [*dict.fromkeys(cuts), len(whole)]
    return [whole[a:b] for a, b in zip((0, *ends), ends, strict=False) if a < b]


def spans_in(text: str, first: str, at: int) -> list[tuple[int, int]]:
    return pieces_after(text.encode(), at, at + len(first.rstrip(".")))


@given(broken(dots_only=False), st.sampled_from(STRINGS))
def test_strings_that_are_put_together_are_one_token(pieces: list[str], joint: str) -> None:
    """Wherever it is cut, every character of it is found and nothing else is."""
    quote = '"' if joint[0] == "\\" else joint[0]
    text = f"x = {quote}{joint.join(pieces)}{quote}; y = 1"
    if joint.startswith('\\"'):
        text = f'x = \\"{joint.join(pieces)}\\"; y = 1'
    at = text.index("eyJ")
    found = spans_in(text, pieces[0], at)
    assert "".join(text[a:b] for a, b in found) == "".join(pieces)


@given(broken(dots_only=True), st.sampled_from(LINES))
def test_lines_that_begin_with_a_dot_belong_to_the_token(pieces: list[str], joint: str) -> None:
    """Also in a comment, and over a backslash at the end of a line."""
    text = f"x {joint.join(pieces)}\nand more\n"
    found = spans_in(text, pieces[0], 2)
    assert "".join(text[a:b] for a, b in found) == "".join(pieces)


@given(broken(dots_only=False), st.sampled_from(STRINGS))
def test_no_piece_of_a_broken_token_survives(pieces: list[str], joint: str) -> None:
    """The same through the redactor, with what stands around it left as it was."""
    quote = '"' if joint[0] == "\\" else joint[0]
    edge = '\\"' if joint.startswith('\\"') else quote
    out = KEYED(f"x = {edge}{joint.join(pieces)}{edge}; y = 1")
    assert out.startswith(f"x = {edge}[redacted:jwt:")
    assert out.endswith(f"]{edge}; y = 1")
    assert not any(piece in out for piece in pieces if len(piece) > 4)


noise = st.lists(
    st.one_of(
        st.binary(max_size=20),
        st.sampled_from([*(one.encode() for one in (*STRINGS, *LINES)), b".", b"..", b"=", b'"',
                         b"eyJhbGciOi", b"a1B2" * 30, b'",', b"'\n'"]),
    ),
    max_size=20,
).map(b"".join)  # fmt: skip


@given(noise, st.integers(0, 200), st.integers(0, 200))
def test_pieces_are_in_order_and_made_of_what_tokens_are_made_of(
    data: bytes, start: int, size: int
) -> None:
    """For any bytes and any place in them: no quote, blank or line end is taken."""
    start = min(start, len(data))
    end = min(start + size, len(data))
    found = pieces_after(data, start, end)
    assert found[0][0] == start
    assert end <= found[0][1] <= end + 3
    assert len(found) <= MAX_PIECES + 1
    last = found[0][1]
    for first, stop in found[1:]:
        assert last < first < stop <= min(len(data), last + PIECE_REACH)
        assert _OWN.fullmatch(data, first, stop)
        last = stop


def test_a_token_does_not_go_on_in_the_next_name_or_value() -> None:
    """The next entry of an object, the next word and the next argument are their own."""
    whole = token({"sub": "jane"}, bytes(range(32)))
    for after in ('", "name": "jane"', '", "the-next-one", "x"', '"\nname = "x"', '": "value"'):
        text = f'"{whole}{after}'
        assert spans_in(text, whole, 1) == [(1, 1 + len(whole))]
    for after in ("\nAnd so it goes on.\n", "\nname: jane\n", " jane\n", "\n\nwords\n"):
        assert spans_in(f"x {whole}{after}", whole, 2) == [(2, 2 + len(whole))]
