"""The gates: what tells a secret from a placeholder, a name or a number."""

from __future__ import annotations

import random
import string
from collections import Counter
from itertools import pairwise
from math import isclose, log2

from hypothesis import given
from hypothesis import strategies as st

from foldaway.redaction.field_secrets import MAX_WRAPPED, is_wrapped, string_in_wrap, wrapped_values
from foldaway.redaction.fields import is_unbalanced, value_at
from foldaway.redaction.gates import is_label, is_opaque, is_random
from foldaway.redaction.values import entropy, is_named, is_real, is_unspeakable, looks_random


@given(st.binary(min_size=1, max_size=256))
def test_entropy_is_that_of_the_counts(value: bytes) -> None:
    """The table gives what the definition gives."""
    shares = [n / len(value) for n in Counter(value).values()]
    assert isclose(entropy(value), -sum(p * log2(p) for p in shares), abs_tol=1e-9)


@given(st.text("aB3-", min_size=16, max_size=300))
def test_few_characters_do_not_look_random(text: str) -> None:
    """Four different characters have at most two bits each, however they alternate."""
    assert not looks_random(text.encode())


@given(st.text("abcXYZ019_-", min_size=24, max_size=40))
def test_what_looks_random_alternates(text: str) -> None:
    """A value of few runs of one class is a name."""
    kinds = [c.isdigit() + 2 * c.islower() + 4 * c.isupper() for c in text]
    if sum(a != b for a, b in pairwise(kinds)) < 4:
        assert not looks_random(text.encode())


def test_a_filler_counts_only_as_a_word_of_its_own() -> None:
    """`fake` within a token is chance; `fake` as a part of a name is not."""
    body = b"sk-ant-admin01-abc12fake-456def789ghij-klmnopqrstuvwx-3456yza789bcde-12fakehij"
    assert is_real(body)
    for filler in (b"sk-fake-key", b"your-token", b"my_secret_1", b"fake_token_1", b"AKIA-xxxx-1"):
        assert not is_real(filler)


def test_words_can_be_spoken_and_random_letters_cannot() -> None:
    """Twelve random letters of one case are told from words and compounds."""
    for word in (b"catchphrase", b"lengthwise", b"internationalization", b"workstations", b"short"):
        assert not is_unspeakable(word)
    for letters in (b"slzpoqhnxahpmdbbqzzy", b"WXRTKPLMNBQZ", b"gacjkuuorrnpryxhwykp"):
        assert is_unspeakable(letters)


def test_nearly_all_random_letters_are_told() -> None:
    """Keys of letters alone are found, small, capital or both; an alphabet is none."""
    rng = random.Random(3)
    for alphabet in (string.ascii_lowercase, string.ascii_uppercase, string.ascii_letters):
        for size, least in ((12, 0.85), (16, 0.93), (32, 0.96)):
            keys = ["".join(rng.choices(alphabet, k=size)).encode() for _ in range(400)]
            told = sum(is_unspeakable(key) or looks_random(key) for key in keys)
            assert told >= least * len(keys), (alphabet, size)
    assert not is_unspeakable(string.ascii_lowercase.encode())
    assert is_random(b"slzpoqhnxahpmdbbqzzy")
    assert not is_random(b"internationalization")


def test_brackets_that_do_not_match_are_no_code() -> None:
    """Code that was cut off has openers too many; only a password closes what none has opened."""
    assert is_unbalanced(b"m{{h}o)p${e]nib(o")
    for code in (b"foo(bar[0].baz)x", b"get_password(user", b"a{b}(c)[d]efghij", b"value1234567))"):
        assert not is_unbalanced(code)


def test_a_bare_value_ends_before_the_next_field() -> None:
    """Separators count where a name follows, closing brackets and commas at the end."""
    for text, value in (
        (b"ab,cd", b"ab,cd"),
        (b"ab,user=x", b"ab"),
        (b"ab;x", b"ab;x"),
        (b"ab,ssl=True", b"ab"),
        (b"a&b=c", b"a"),
        (b"ab)", b"ab"),
        (b"ab),", b"ab"),
        (b"a)b", b"a)b"),
        (b"ab%26c=d", b"ab"),
        (b"ab\\n", b"ab"),
        (b"ab;", b"ab"),
        (b"ab c", b"ab"),
    ):
        assert value_at(text, 0, lines=False, query=False) == (0, len(value), False), text
    assert value_at(b"a,b=c&d", 0, lines=False, query=True) == (0, 5, False)


def test_a_prefix_of_a_value_is_no_part_of_it() -> None:
    """What may open a string, a tag of YAML or a block is not taken for the value's first byte."""
    for text in (b"@'ab'", b"f'ab'", b"!ref ab", b"&x ab", b"|\n  ab", b" \t ab", b" b'ab'"):
        start = text.index(b"ab")
        quoted = text.endswith(b"'")
        assert value_at(text, 0, lines=False, query=False) == (start, start + 2, quoted), text


def test_the_first_look_lets_every_wrap_through() -> None:
    """What the patterns for a value in a wrap match is not ruled out before they are asked."""
    key = b"q8ZrT2mWx4LkP9vNc7Bd"
    for wrap in (
        b'["%b"]', b" [\n  '%b',", b" {prod: %b}", b"\n  - %b\n", b" \\\n  %b\n", b"<%b>",
        b' @"%b"', b" new Secret('%b')", b' a.b::C<D>("%b")', b' String::from("%b")',
        b" <<~EOF\n  %b\n", b' x or "%b"', b"  ? '%b'", b" env.A_B || '%b'", b" a?.b  ?? '%b'",
        b" f ?: '%b'", b" a ? b : '%b'", b' if a then b else "%b"',
    ):  # fmt: skip
        text = b"=" + wrap % key
        assert is_wrapped(text, 1), text
        assert wrapped_values(text, 1, uuids=True)[0], text
    for wrap in (
        b'{"value": "%b"}', b' lambda: "%b"', b' lambda a, b: "%b"', b" () => '%b'",
        b' []byte("%b")', b' os.environ.get("X", "%b")', b' Field(None, default="%b")',
        b" abcdefghijklmnopqrstuvwx.abcdefghijklmnopqrstuvwx::abcdefghijklmnopqrstuvwx.bytes('%b')",
    ):  # fmt: skip
        text = b"=" + wrap % key + b"\n"
        assert is_wrapped(text, 1), text
        assert string_in_wrap(text, 1) is not None, text
    for text in (b"= 12, x or y", b"= 2025-12-10-xyz\nTo [x]", b'=%q", want)', b"= a.b.c; f(x)"):
        assert not is_wrapped(text, 1), text


def test_of_a_long_wrapped_value_so_much_is_taken() -> None:
    """A value that goes on beyond its longest is cut there, and counts by what follows."""
    key = (b"q8ZrT2mWx4LkP9vNc7Bd" * 40)[:MAX_WRAPPED]
    assert wrapped_values(b"=[" + key + b"]", 1, uuids=True)[0] == [(2, 2 + MAX_WRAPPED)]
    assert wrapped_values(b"=[" + key + b"*9]", 1, uuids=True)[0] == [(2, 2 + MAX_WRAPPED)]
    assert not wrapped_values(b"=[" + key + b"9]", 1, uuids=True)[0]


def test_a_name_put_together_from_words_is_no_password() -> None:
    """`skipTLSVerify` has a run of consonants and is speakable; a day makes no key."""
    assert not is_unspeakable(b"SkipTLSVerify")
    assert is_unspeakable(b"SDDlcduojGiheMYB")
    assert not is_opaque(b"2025-12-10-abc123def")
    assert is_label(b"app.user.preferences.v2")
    assert not is_label(b"correct-horse-battery-staple")
    assert not is_label(b"EwCEIiBYcK0VjTsCS")


def test_names_in_code_are_told_from_keys() -> None:
    """A class with a number in its name alternates as a key does, but can be read."""
    for name in (b"Ed25519PrivateKey", b"SyncX509WorkloadIdentityAuth", b"base64.b32encode(key"):
        assert is_named(name)
    for key in (
        b"EwCEIiBYcK0VjTsCS",
        b"patltyihn6mqou9hb85d",
        b"sA9ST7s28eQTMoufQ",
        b"AKIA2E0A8F3B",
    ):
        assert not is_named(key)
