"""A tokenizer file counts by words exactly what it counts by itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.trajectories.tokenizer_file import SPLITS, Tokenizer, WordTokenizer, counter_of

tokenizers: Any = pytest.importorskip("tokenizers", reason="needs foldaway[trajectories]")

_ADDED = ["<|end|>", "<|end|>x", "<tool_call>", "</tool_call>", "a b", "é|"]
_TEXTS = st.lists(
    st.one_of(
        st.sampled_from([*_ADDED, "<tool", "_call>", "end|>", "don't", "\n\n    ", "\r\n", "x y",
                         '{\\"a\\": 123}', "e\u0301", "\u212a", "\ud800", "中文 words", "' s"]),
        st.text(st.sampled_from("ab z09\n\t'-<|>_é\u0301"), max_size=8),
        st.text(max_size=4),
    ),
    max_size=12,
).map("".join)  # fmt: skip
_CORPUS = ["the tool_call <|end|> don't  do\n\n  it's {\"a\": 123}\r\n x y zz -- naïve é'"] * 9


def _tokenizer(regex: str, added: list[dict[str, Any]] | None = None, **more: Any) -> Any:
    """Return a byte-level BPE that splits by `regex`, by itself for ""."""
    level = tokenizers.pre_tokenizers.ByteLevel
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    part = tokenizers.pre_tokenizers.Split(tokenizers.Regex(regex), "isolated")
    made.pre_tokenizer = (
        tokenizers.pre_tokenizers.Sequence([part, level(add_prefix_space=False, use_regex=False)])
        if regex
        else level(add_prefix_space=False)
    )
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=420, initial_alphabet=level.alphabet(), show_progress=False
    )
    made.train_from_iterator(_CORPUS, trainer)
    for options in added or []:
        made.add_tokens([tokenizers.AddedToken(**options)])
    text = json.loads(made.to_str()) | more
    return tokenizers.Tokenizer.from_str(json.dumps(text))


_PLAIN = [{"content": one, "normalized": False} for one in _ADDED]
_MIXED = [{"content": one, "normalized": at % 2 == 0} for at, one in enumerate(_ADDED)]
_STRIPPING = [*_PLAIN[:2], {"content": "a b", "lstrip": True, "normalized": False}]
_FILES = {
    "gpt2": _tokenizer("", _MIXED),
    **{f"split {at}": _tokenizer(regex, _PLAIN) for at, regex in enumerate(SPLITS)},
    "nfc": _tokenizer(list(SPLITS)[2], _PLAIN, normalizer={"type": "NFC"}),
    "stripping": _tokenizer(list(SPLITS)[1], _STRIPPING),
    "nothing added": _tokenizer(list(SPLITS)[1]),
}


@pytest.mark.parametrize("name", _FILES)
@given(text=_TEXTS)
def test_by_words_and_by_itself_a_file_counts_the_same(name: str, text: str):
    """Added tokens, their halves and those that begin alike; marks, halves of surrogates, line
    ends; and the second time as the first."""
    counter = counter_of(name, _FILES[name])
    assert isinstance(counter, WordTokenizer)
    want = Tokenizer(name, _FILES[name]).count(text)
    assert (counter.count(text), counter.count(text)) == (want, want)


_ODD: dict[str, dict[str, Any]] = {
    "another normaliser": {"normalizer": {"type": "Lowercase"}},
    "a space before everything": {"pre_tokenizer": {
        "type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}},
    "no split": {"pre_tokenizer": {
        "type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}},
    "another split": {"pre_tokenizer": {"type": "Whitespace"}},
    "nothing before the model": {"pre_tokenizer": None},
    "tokens in text of another form": {"normalizer": {"type": "NFC"}, "added_tokens": [{
        "id": 420, "content": "KK", "single_word": False, "lstrip": False, "rstrip": False,
        "normalized": True, "special": False}]},
    "a token that half a surrogate pair could be part of": {"added_tokens": [{
        "id": 420, "content": "<?>", "single_word": False, "lstrip": False, "rstrip": False,
        "normalized": False, "special": False}]},
}  # fmt: skip


@each_row("name", _ODD)
def test_a_file_that_does_something_else_counts_by_itself(name: str):
    """What could make a text cost other than its words is left to the tokenizer."""
    made = _tokenizer("", **_ODD[name])
    assert isinstance(counter_of(name, made), Tokenizer)


def test_chance_is_left_to_the_tokenizer():
    """With dropout the same word costs this and that."""
    text = json.loads(_tokenizer("").to_str())
    text["model"]["dropout"] = 0.5
    made = tokenizers.Tokenizer.from_str(json.dumps(text))
    assert isinstance(counter_of("dropout", made), Tokenizer)


def test_another_pattern_in_the_place_of_a_known_one_is_left_to_the_tokenizer():
    """Known means letter by letter."""
    assert isinstance(counter_of("x", _tokenizer(r"\p{L}+|\s+|.")), Tokenizer)
