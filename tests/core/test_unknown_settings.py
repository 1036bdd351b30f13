"""What happens to a setting that does not exist."""

from __future__ import annotations

from typing import Any

import pytest
from tests.testing.rows import each_row

from foldaway import Model, Options, Policy, Session, SessionOptions
from foldaway.errors import InvalidSetting
from foldaway.pure import Prices, estimate_tokens, select_tail
from foldaway.redaction import RedactionPolicy
from foldaway.reduction import Truncation
from foldaway.sessions import Hooks, Retention
from foldaway.stores import NewSession
from foldaway.summarizers import NativeCompaction, Writers
from foldaway.trajectories import TrajectoryPolicy


@each_row("kind", [
    Policy, Options, SessionOptions, Model, Hooks, NewSession, Retention, Writers,
    NativeCompaction, RedactionPolicy, TrajectoryPolicy, Truncation, Prices,
])  # fmt: skip
def test_an_unknown_setting_is_named_with_the_nearest_one(kind: Any) -> None:
    """In each value that people make with keywords; if none is near, all are named."""
    names = kind.__struct_fields__
    with pytest.raises(InvalidSetting) as caught:
        kind(**{f"{names[-1]}x": 1})
    said = f"unknown setting {kind.__name__}.{names[-1]}x; did you mean {names[-1]}?"
    assert str(caught.value) == said
    with pytest.raises(InvalidSetting, match=f"known: {', '.join(names)}"):
        kind(xyzzy=1)


def test_the_settings_of_older_versions_are_unknown() -> None:
    """They are passed over in what was stored, but not in what a person writes."""
    older: dict[str, Any] = {"summary_max_tokens": 900}
    with pytest.raises(InvalidSetting, match="did you mean summary_tokens"):
        Policy(**older)
    misspelled: dict[str, Any] = {"context_lenght": 900}
    with pytest.raises(InvalidSetting, match="did you mean context_length"):
        Session.open(":memory:", "x", **misspelled)


def test_what_is_missing_or_too_much_stays_an_error_of_python() -> None:
    """Only unknown names are looked at."""
    kinds: tuple[Any, ...] = (Policy, Prices)
    with pytest.raises(TypeError):
        kinds[0](0.5)
    with pytest.raises(TypeError):
        kinds[1](input=1.0)


def test_a_number_of_another_type_is_refused_by_name() -> None:
    """Not by an error of Python in the middle of the work."""
    for wrong in ("x", None, 1.5, True):
        with pytest.raises(InvalidSetting, match="target_tokens"):
            TrajectoryPolicy(target_tokens=wrong)  # pyright: ignore[reportArgumentType]
    session = Session()
    session.append({"role": "user", "content": "hi"})
    with pytest.raises(InvalidSetting, match="at is 'x'"):
        session.branch("x")  # pyright: ignore[reportArgumentType]


def test_a_request_is_not_counted_as_if_it_were_a_list() -> None:
    """Its fields are no messages: the list in it is what is meant."""
    request: Any = {"model": "m", "messages": [{"role": "user", "content": "word " * 900}]}
    for ask in (estimate_tokens, lambda one: select_tail(one, 100)):
        with pytest.raises(InvalidSetting, match="of a request give its list"):
            ask(request)
    assert estimate_tokens(request["messages"]) > 800
