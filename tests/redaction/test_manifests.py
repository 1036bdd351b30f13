"""Kubernetes Secrets: every value under `data:` and `stringData:` is hidden."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.redaction import RedactionPolicy, Redactor
from foldaway.redaction.examples import load_examples
from foldaway.redaction.redactor import HOLD, Stream

EXAMPLES = load_examples()["manifests"]
REDACTOR = Redactor(RedactionPolicy(key="test"))


@given(
    st.dictionaries(st.sampled_from(("a", "b.txt", "c-d")), st.text("abc {}:,'\\\n", min_size=1)),
    st.permutations(("kind", "stringData", "type")),
    st.sampled_from((None, 2)),
    st.integers(0, 2),
)
def test_a_secret_in_json_stays_json_and_keeps_no_value(
    values: dict[str, str], order: list[str], indent: int | None, depth: int
) -> None:
    """Whatever its values are, in whatever order and in however many strings it stands."""
    manifest = {"kind": "Secret", "stringData": values, "type": "Opaque"}
    text = json.dumps({key: manifest[key] for key in order}, indent=indent)
    for _ in range(depth):
        text = json.dumps(text)
    out = REDACTOR(text)
    assert REDACTOR(out) == out
    for _ in range(depth):
        out = json.loads(out)
    read = json.loads(out)
    assert read["type"] == "Opaque"
    assert all("[redacted:" in value for value in read["stringData"].values())


@each_row("text", ["".join(parts) for parts in EXAMPLES.true] + list(EXAMPLES.false))
def test_a_manifest_is_redacted_the_same_in_pieces(text: str) -> None:
    """The stream gives what the whole gives, wherever a piece ends, and twice is once."""
    wanted = REDACTOR(text)
    assert REDACTOR(wanted) == wanted
    filler = "plain words of filler\n---\n" * (HOLD // 26 + 1)
    data = (filler + text + "\n---\n" + filler).encode()
    whole = REDACTOR(data.decode()).encode()
    for cut in range(0, len(text), 16):
        stream = Stream(REDACTOR, block=1)
        first = len(filler) + cut + HOLD
        assert stream.feed(data[:first]) + stream.feed(data[first:]) + stream.finish() == whole


@pytest.mark.parametrize(
    "piece",
    [
        "kind: Secret\n", "kind: Secret\nstringData:\n  a: b\n", '{"kind": "Secret", ',
        '}"kind": "Secret", "data": ', "kind: Secret\ndata:\n" + "  a: =\n" * 500,
    ],
)  # fmt: skip
@pytest.mark.soak
def test_many_secrets_cost_in_proportion(
    piece: str, assert_proportion: Callable[..., None]
) -> None:
    """Four times as many take no more than some four times as long."""
    text = piece * (20_000 // len(piece))
    assert_proportion(partial(REDACTOR, text), partial(REDACTOR, text * 4), times=8, plus=0.05)


def test_values_behind_a_block_that_cost_too_much_are_hidden_with_it() -> None:
    """Their kind is in the block: nothing else says that they are secret."""
    manifest = (
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: app\nstringData:\n"
        "  first: sunshine\n  second: 5432\ntype: Opaque\n"
    )
    token = "M0XvqZjxTW3xvboSRt5Mh3dAwVtRMflhbmuaptt0Azn0DNRUQxA71p2Td8VKqxryo1nIj7BRd03Q2ybv"
    between = f'","see xai-{token} hereAIK_PLATFORM_","@/","'
    text = f"{manifest}{between}{manifest}" * 1_400
    hidden = REDACTOR(text)
    assert "sunshine" not in hidden
    assert REDACTOR(hidden) == hidden
