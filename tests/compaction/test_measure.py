"""The one measure: what counts, what does not, and that it adds up."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.testing.long_lists import long_lists
from tests.testing.rows import each_row
from tests.testing.strategies import logs

from foldaway import load
from foldaway.compaction.measure import Costs, message_tokens, tools_tokens
from foldaway.dialects import dialect_named
from foldaway.testing import assistant, call, media, result, talk, think, user
from foldaway.transcript import IMAGE_TOKENS, Estimator, Media, Message, Opaque, Text, Thinking

COUNTER = Estimator()


def tokens(*parts: object) -> int:
    return message_tokens(Message("user", tuple(parts)), COUNTER)  # pyright: ignore[reportArgumentType]


def test_an_image_counts_flat_and_never_by_its_base64() -> None:
    """A megabyte of base64 costs what one pixel costs."""
    assert tokens(Media("image", "image/png", "A" * 1_000_000)) == tokens(media())
    assert tokens(media()) - tokens() == 1_600


def test_nested_results_and_unknown_parts_count() -> None:
    """JSON blocks, text inside results and opaque objects are never zero."""
    log = talk(user("x"), assistant(call("a")), result("word " * 100, media()))
    assert message_tokens(log.messages[2], COUNTER) > 1_700
    assert tokens(Opaque("json", wire={"rows": [{"id": n} for n in range(50)]})) > 150


def test_sealed_reasoning_counts_by_its_size() -> None:
    """Encrypted content costs about three quarters of its characters, in four bytes a token."""
    assert 1_700 < tokens(Thinking("", "A" * 10_000)) < 2_000
    assert tokens(think("words", signature="A" * 10_000)) < 50


def test_tool_definitions_count() -> None:
    """Their whole JSON, and nothing where there are none."""
    assert tools_tokens([], COUNTER) == 0
    tool = {"name": "bash", "description": "Run a command. " * 50}
    assert tools_tokens([tool, tool], COUNTER) > tools_tokens([tool], COUNTER) > 100


def test_a_lone_surrogate_does_not_stop_the_count() -> None:
    """Broken text is counted all the same."""
    assert tokens(Text("\ud800 broken")) > 4
    assert tokens(Opaque("x", wire={"a": "\ud800"})) > 4


@given(log=logs())
def test_a_span_is_the_sum_of_its_messages(log: tuple[Message, ...]) -> None:
    """Measured now or on arrival, one by one or together."""
    wanted = [message_tokens(message, COUNTER) for message in log]
    for costs in (Costs(log, COUNTER), Costs(log, COUNTER, wanted)):
        assert costs.span(0, len(log)) == sum(wanted)
        assert [costs[at] for at in range(len(log))] == wanted


@pytest.mark.parametrize("provider", ["openai-chat", "anthropic"])
@settings(max_examples=10)
@given(data=st.data())
def test_a_long_stretch_costs_what_its_messages_cost(provider: str, data: st.DataObject) -> None:
    """Measured as one text it is within 1 % of the sum."""
    log = load(data.draw(long_lists(provider, least=12, most=20)), dialect=provider).messages
    totals: dict[str, int] = {}
    Costs(log, COUNTER).add_to(totals, 0, len(log), lambda _: "all")
    wanted = sum(message_tokens(message, COUNTER) for message in log)
    assert abs(totals["all"] - wanted) <= 0.01 * wanted


class ByKind(Estimator):
    """A counter that knows the price of a document."""

    def count_media(self, media: Media) -> int:
        """Return 9,000 for a document and 800 for all others."""
        return 9_000 if media.kind == "document" else 800


def test_a_counter_may_have_its_own_price_for_media() -> None:
    """Also inside results, and in a long stretch that is measured as one text."""
    document = Media("document", "application/pdf", "A" * 100)
    empty = message_tokens(Message("user", ()), ByKind())
    assert message_tokens(Message("user", (document, media())), ByKind()) - empty == 9_800
    log = [*talk(user("x"), assistant(call("a")), result("word", document)).messages] * 200
    totals: dict[str, int] = {}
    Costs(log, ByKind()).add_to(totals, 0, len(log), lambda message: message.role)
    assert totals["tool"] > 200 * 9_000


def test_images_in_the_blocks_that_hermes_keeps_beside_a_message_count() -> None:
    """Of a message's own content and of its results; without images they cost nothing."""
    image = {"type": "image", "source": {"type": "base64", "data": "QUJD" * 9_000}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": [image, image]}

    def tokens(blocks: list[object]) -> int:
        message = {"role": "user", "content": "see", "_anthropic_content_blocks": blocks}
        (decoded,) = dialect_named("openai-chat").decode([message])
        return message_tokens(decoded, Estimator())

    assert tokens([image, result]) - tokens([{"type": "text", "text": "see"}]) == 3 * IMAGE_TOKENS


@each_row("row", [False, 7, "_anthropic_content_blocks", ["_anthropic_content_blocks"]])
def test_what_is_no_message_has_tokens_too(row: object) -> None:
    """A list may hold anything; it is measured before anybody says that it is broken."""
    (decoded,) = dialect_named("openai-chat").decode([row])
    assert message_tokens(decoded, COUNTER) > 0
