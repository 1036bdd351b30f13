"""The embeddings of the model server, as the official client gets them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import InternalServerError, OpenAI

from foldaway.testing import ModelServer, openai_error
from foldaway.testing.model_replies import vector_of


@given(st.text(), st.text())
def test_a_vector_has_length_one_and_is_the_same_for_the_same_words(text: str, other: str) -> None:
    """Any text has a vector; case, order and what stands between words do not count."""
    vector = vector_of(text, 64)
    assert len(vector) == 64
    assert abs(sum(one * one for one in vector) - 1) < 1e-9
    assert vector_of(f"{text} {other}".upper()) == vector_of(f"{other}\n{text}".upper())


def test_the_sdk_gets_a_vector_for_each_text_and_shared_words_are_near() -> None:
    """Over HTTP, of the size that was asked for; a script can fail instead."""
    with ModelServer() as server:
        client = OpenAI(base_url=server.openai_url, api_key="any", max_retries=0)
        texts = ["the port is 5433", "which port was it", "blue paint"]
        data = client.embeddings.create(
            model="m", input=texts, dimensions=512, encoding_format="float"
        ).data
        near, far = (
            sum(a * b for a, b in zip(data[0].embedding, data[at].embedding, strict=True))
            for at in (1, 2)
        )
        assert [len(one.embedding) for one in data] == [512] * 3
        assert near > 0.2 > far
        assert server.requests[0].api == "embeddings"
        server.replies(openai_error(500, "down"))
        with pytest.raises(InternalServerError):
            client.embeddings.create(model="m", input="x")
        client.close()
