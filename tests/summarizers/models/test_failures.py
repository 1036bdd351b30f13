"""Kinds of failures told from types, statuses and codes; never a word of what was said."""

from __future__ import annotations

import importlib
import socket
import warnings
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.summarizers.models.failures import (
    CONNECTION_WORDS,
    INVENTED,
    STATUSES,
    SURE_STATUSES,
    SURE_TYPES,
    TRANSPORT,
    TYPES,
    Interrupted,
    delay_of,
    failure,
)

NAMED = sorted(
    {name for table in (SURE_TYPES, TYPES, CONNECTION_WORDS) for name, _ in table}
    | TRANSPORT
    | INVENTED
)


class Failed(Exception):
    """An error as SDKs make them: a status and a body."""

    def __init__(self, message: str, status: int, body: Any) -> None:
        super().__init__(message)
        self.status_code = status
        self.body = body


@each_row("name", NAMED)
def test_every_type_that_is_named_exists(name: str) -> None:
    """A class that an SDK has renamed would be missed without a sound."""
    module, _, kind = name.rpartition(".")
    package = module.partition(".")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip(package, reason=f"needs the {package} package")
        found = getattr(importlib.import_module(module), kind)
    assert issubclass(found, BaseException)
    assert f"{found.__module__}.{found.__qualname__}" in (name, *BUILT_IN)


BUILT_IN = ("builtins.OSError", "builtins.TimeoutError")


@given(st.text(min_size=12), st.integers(300, 599), st.text(min_size=12))
def test_nothing_that_a_provider_says_is_repeated(message: str, status: int, code: str) -> None:
    """Whatever stands in message and code, only a status and a plain code come out."""
    error = Failed(message, status, {"error": {"message": message, "code": code, "type": [code]}})
    said = failure(error, "n").said
    assert said.removeprefix(f"HTTP {status}").strip() in ("", code)
    assert code not in said or (code.isascii() and code.replace("_", "").islower())


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["error", "code", "type", "details", "message"]), inner
            )
        ),
    )
)
def test_any_body_has_a_kind(body: Any) -> None:
    """A server can send any JSON as its error."""
    assert failure(Failed("", 400, body), "n").kind


@each_row("key", ["sk-proj-abc123", "AKIAIOSFODNN7EXAMPLE", "a" * 81, "two words", "ünïcode"])
def test_a_code_that_could_be_a_secret_is_left_out(key: str) -> None:
    """Codes are short lower-case words; keys are not."""
    assert failure(Failed("", 400, {"error": {"code": key}}), "n").said == "HTTP 400"


@each_row("status", range(500, 600))
def test_every_fault_of_the_server_passes(status: int) -> None:
    """500 and its relatives are the server's affair, and a later try may do."""
    assert failure(Failed("", status, None), "n").kind == "overloaded"


def test_sure_statuses_have_a_kind() -> None:
    """What is sure is in the table."""
    assert set(STATUSES) >= SURE_STATUSES


def test_a_refusal_names_the_variable_with_the_key() -> None:
    """The user learns what to set."""
    assert failure(Failed("", 401, None), "n", key="SOME_KEY").said == "HTTP 401; check SOME_KEY"


def test_a_connection_that_ends_an_answer_is_a_broken_answer() -> None:
    """Before the first byte the server is unreachable; afterwards its answer is broken."""
    error = Interrupted()
    error.__cause__ = ConnectionResetError()
    assert failure(error, "n").kind == "broken answer"
    assert failure(ConnectionResetError(), "n").kind == "unreachable"


def test_a_host_that_does_not_exist_is_unreachable() -> None:
    """Names are looked up by the system; its error says so."""
    failed = failure(socket.gaierror(-2, "the name"), "n")
    assert (failed.kind, failed.said) == ("unreachable", "no such host")


def test_a_chain_that_is_a_ring_ends() -> None:
    """Errors can be each other's cause."""
    first, second = ValueError(), KeyError()
    first.__cause__, second.__cause__ = second, first
    assert failure(first, "n").kind == "broken answer"


@each_row(
    ("headers", "seconds"),
    [
        ({}, 0.0),
        ({"retry-after": "12"}, 12.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "x", "retry-after": "3"}, 3.0),
        ({"retry-after": "-4"}, 0.0),
        ({"retry-after": "inf"}, 0.0),
        ({"retry-after": "nan"}, 0.0),
        ({"retry-after": "soon"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_a_delay_is_read_in_all_its_forms(headers: dict[str, str], seconds: float) -> None:
    """Seconds, milliseconds, a date; nonsense is no delay."""
    assert delay_of(headers) == seconds


def test_a_date_is_held_against_the_clock_of_the_server() -> None:
    """A clock that is off by a year must not make a delay of a year."""
    headers = {"date": formatdate(1000, usegmt=True), "retry-after": formatdate(1060, usegmt=True)}
    assert delay_of(headers) == 60.0


@given(st.text(), st.text(), st.text())
def test_no_header_breaks_the_reading(after: str, millis: str, date: str) -> None:
    """Headers are content too."""
    assert delay_of({"retry-after": after, "retry-after-ms": millis, "date": date}) >= 0
