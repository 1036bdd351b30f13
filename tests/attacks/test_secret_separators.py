"""Values that end at another separator than a line break: environments, records, pages."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.redaction import RedactionPolicy, Redactor
from foldaway.redaction.examples import load_examples
from foldaway.redaction.redactor import HOLD, Stream
from foldaway.redaction.rules import built_in_rules

REDACTOR = Redactor(RedactionPolicy(key="test", mentions=True))
SEPARATORS = ("\0", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\u2028", "\u2029")
EXAMPLES = [
    parts for name, one in load_examples().items() if name != "manifests" for parts in one.true
]
ENVIRONMENT = "USER=app\nDB_PASSWORD=hunter2hunter2\nHOME=/root\nPASSWORD=letmein\n"


def ended(parts: tuple[str, ...], line_break: str) -> list[str]:
    """Return an example with its line break after each value replaced, one after the other."""
    texts: list[str] = []
    for at in range(2, len(parts), 2):
        after = parts[at]
        if at == len(parts) - 1 and not after:
            after = "\nnext=1\n"
        if after.startswith("\n"):
            rest = "".join(parts[at + 1 :])
            texts.append("".join(parts[:at]) + line_break + after[1:] + rest)
    return texts


ENDING = [parts for parts in EXAMPLES if ended(parts, "\n")]


def hidden(text: str) -> list[tuple[int, int]]:
    return [(found.start, found.end) for found in REDACTOR.redact(text).findings]


@given(st.sampled_from(ENDING), st.sampled_from(SEPARATORS))
def test_a_value_is_hidden_whatever_separates_it_from_the_next(
    parts: tuple[str, ...], separator: str
) -> None:
    """Another separator after a value hides the same characters, and changes no other."""
    for with_break, text in zip(ended(parts, "\n"), ended(parts, separator), strict=True):
        assert hidden(text) == hidden(with_break)
        once = REDACTOR(text)
        assert once.count(separator) == text.count(separator)
        assert REDACTOR(once) == once


@each_row("separator", SEPARATORS)
def test_a_process_environment_is_redacted_like_lines(separator: str) -> None:
    """What `cat /proc/PID/environ` prints comes out as the same lines would."""
    text = ENVIRONMENT.replace("\n", separator)
    assert REDACTOR(text) == REDACTOR(ENVIRONMENT).replace("\n", separator)
    assert "hunter2" not in REDACTOR(text)
    assert "letmein" not in REDACTOR(text)


ESCAPES = (
    r"\n", r"\r", r"\t", r"\f", r"\v", r"\0", r"\000", r"\x00", r"\x0a", r"\x0b", r"\x0C", r"\x1e",
    r"\u0000", r"\u001e", r"\\n", r"\\f", r"\\0", r"\\x00", "^@",
)  # fmt: skip


@each_row("escape", ESCAPES)
@each_row("before", ['{"env": "', 'char *env = "', ""])
def test_an_escaped_separator_ends_a_value(before: str, escape: str) -> None:
    """In a string of JSON or C the value is hidden, and the variables beside it stay."""
    text = before + ENVIRONMENT.replace("letmein", "Tr0ub4dor&3").replace("\n", escape)
    out = REDACTOR(text + '"' if before else text)
    for secret in ("hunter2", "Tr0ub4dor"):
        assert secret not in out
    for kept in (f"USER=app{escape}DB_PASSWORD=[", f"]{escape}HOME=/root{escape}PASSWORD=["):
        assert kept in out


@each_row("escape", ESCAPES)
@each_row("name", ["DB_PASSWORD", "API_TOKEN", "PASSWORD"])
def test_a_plain_word_is_hidden_before_an_escaped_separator(name: str, escape: str) -> None:
    """A password that is a word is hidden in a string as it is on a line of its own."""
    text = f'{{"env": "USER=app{escape}{name}=sunshine{escape}HOME=/root{escape}"}}'
    assert re.sub(r"\[redacted:\w+:\w+\]", "sunshine", REDACTOR(text)) == text
    assert "sunshine" not in REDACTOR(text)


TOKENS = [
    load_examples()[rule.name].true[0][1]
    for rule in built_in_rules()
    if rule.family == "vendor" and not rule.inside_word
]


@each_row("escape", ESCAPES)
def test_a_token_is_hidden_after_an_escaped_separator(escape: str) -> None:
    """The escape is no part of the word that follows it: a token there is one as on a new line."""
    for token in TOKENS:
        assert (token in REDACTOR(f'"a{escape}{token}{escape}b"')) == (
            token in REDACTOR(f'"a\\n{token}\\nb"')
        ), token


@pytest.mark.slow
@pytest.mark.parametrize("separator", SEPARATORS)
def test_a_separator_at_the_seam_of_two_blocks_ends_a_value(separator: str) -> None:
    """The stream gives what the whole gives, wherever a block ends."""
    record = ENVIRONMENT.replace("\n", separator).encode()
    filler = (b"plain words of filler" + separator.encode()) * (HOLD // 22 + 1)
    text = filler + record + filler
    wanted = REDACTOR(text.decode()).encode()
    for cut in range(len(record) + 1):
        stream = Stream(REDACTOR, block=1)
        first = len(filler) + cut + HOLD
        assert stream.feed(text[:first]) + stream.feed(text[first:]) + stream.finish() == wanted


@pytest.mark.slow
def test_the_command_redacts_an_environment_from_a_pipe() -> None:
    """`foldaway redact -` hides the value before a NUL and keeps every other byte."""
    done = subprocess.run(
        [sys.executable, "-m", "foldaway", "redact", "-"],
        input=ENVIRONMENT.replace("\n", "\0").encode(),
        capture_output=True,
        check=True,
    )
    variables = done.stdout.split(b"\0")
    assert [one.partition(b"=")[0] for one in variables[:-1]] == [
        b"USER", b"DB_PASSWORD", b"HOME", b"PASSWORD",
    ]  # fmt: skip
    assert b"hunter2" not in done.stdout
    assert b"letmein" not in done.stdout


@given(st.sampled_from(SEPARATORS[7:]), st.text("ab,\\\"' ", max_size=4))
@example("\u2028", "  ")
def test_a_wide_separator_in_a_string_of_json_stays_in_it(separator: str, rest: str) -> None:
    """JSON allows it there: the value goes on as after a blank; what comes out is JSON."""
    with_blank, text = (
        json.dumps({"password": f"Tr0ub4dor&3{one}{rest}x9"}, ensure_ascii=False)
        for one in (" ", separator)
    )
    out = REDACTOR(text)
    assert json.loads(out).keys() == {"password"}
    assert "Tr0ub4dor" not in out or "Tr0ub4dor" in REDACTOR(with_blank)
    assert " " in rest.strip(" ") or "Tr0ub4dor" not in out
