"""The reader: a scripted model behind real protocols, and the files that leave and come back."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from foldaway.errors import NotReadable
from foldaway.lab.scoring.session import LabSession
from foldaway.lab.strategies import PLAIN, choose_strategies

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import reader
from reader_cases import (
    ARGUMENTS,
    FULL,
    NONE,
    SCORED,
    TEXT,
    ReaderLosses,
    continuation,
    reader_case,
    reader_lines,
)
from reader_models import ask, open_reader, read_losses, tokens_of, write_texts

_TOKEN = re.compile(r"\s*[\w-]+|\s*[^\w\s]|\s+$")
_SEEN, _NEW = -0.125, -6.0
"""What the scripted model gives to a word that stands before, and to one that does not."""


def tokenize(text: str) -> list[str]:
    return _TOKEN.findall(text)


def log_probability(seen: set[str], token: str) -> float:
    return _SEEN if token.strip() in seen else _NEW


def answer_echo(path: str, body: Any) -> Any:
    """Answer as a server with OpenAI's completions does, with `echo` and `logprobs`."""
    if path == "/v1/models":
        return {"object": "list", "data": [{"id": "scripted", "object": "model"}]}
    if path != "/v1/completions" or body["model"] != "scripted" or not body["echo"]:
        return None
    tokens = [*tokenize(body["prompt"]), " more"]
    offsets, values, seen, at = list[int](), list[float | None](), set[str](), 0
    for token in tokens:
        offsets.append(at)
        values.append(log_probability(seen, token) if at else None)
        seen.add(token.strip())
        at += len(token)
    told = {
        "tokens": tokens,
        "token_logprobs": values,
        "text_offset": offsets,
        "top_logprobs": None,
    }
    return {"object": "text_completion", "choices": [{"text": "".join(tokens), "logprobs": told}]}


def answer_llama(path: str, body: Any) -> Any:
    """Answer as llama.cpp's server does: what may come next, for a prompt of token ids."""
    if path == "/props":
        return {"total_slots": 1}
    if path == "/tokenize":
        vocabulary.extend(one for one in tokenize(body["content"]) if one not in vocabulary)
        rows = [{"id": vocabulary.index(one), "piece": one} for one in tokenize(body["content"])]
        return {"tokens": rows}
    if path != "/completion" or body["n_predict"] != 1:
        return None
    seen = {vocabulary[int(one)].strip() for one in body["prompt"]}
    top = [
        {"id": at, "token": one, "bytes": list(one.encode()), "logprob": log_probability(seen, one)}
        for at, one in enumerate(vocabulary)
    ]
    return {"content": "x", "completion_probabilities": [{"id": 0, "top_logprobs": top}]}


vocabulary: list[str] = []


@contextmanager
def serving(answer: Callable[[str, Any], Any]) -> Generator[str]:
    """Serve a scripted model on loopback and give its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(answer(self.path, None))

        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            self._send(answer(self.path, json.loads(self.rfile.read(size))))

        def _send(self, value: Any) -> None:
            data = json.dumps(value).encode()
            self.send_response(404 if value is None else 200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  their name
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def session(make_session: Callable[[], LabSession]) -> LabSession:
    """Return one session."""
    return make_session()


TRIED = choose_strategies(("foldaway", "keep-tail"), PLAIN)


def test_the_full_context_is_worth_everything_and_none_nothing(session: LabSession) -> None:
    """A model that knows the words before finds the rest likelier the more of them there are."""
    case = reader_case(session, TRIED, 0.3)
    assert case is not None
    with serving(answer_echo) as address:
        row = ask(open_reader(address), case)
    lines = {line.system: line for line in reader_lines([row])}
    assert {name: line.kept.share for name, line in lines.items() if line.kept} == {
        FULL: 1.0, NONE: 0.0, "foldaway": pytest.approx(0.5, abs=0.5),
        "keep-tail": pytest.approx(0.5, abs=0.5)}  # fmt: skip
    assert lines[FULL].loss < lines["foldaway"].loss < lines[NONE].loss
    assert lines["keep-tail"].behind is not None
    assert lines["foldaway"].behind is None
    assert case.used["keep-tail"] <= case.used["foldaway"] * 1.05 < case.body


def test_both_servers_are_read_alike(session: LabSession) -> None:
    """One gives its prompt's probabilities at once, the other is asked token by token."""
    case = reader_case(session, TRIED, 0.3)
    assert case is not None
    with serving(answer_echo) as echo, serving(answer_llama) as llama:
        after = case.after[:8]
        at_once = open_reader(echo).losses(case.contexts[NONE], after)
        assert open_reader(llama).losses(case.contexts[NONE], after) == at_once
    assert set(at_once) <= {-_SEEN, -_NEW}
    assert at_once


def test_only_what_the_agent_wrote_is_scored() -> None:
    """Its words and the arguments of its calls; names of tools, results and users are given."""
    function = {"name": "Bash", "arguments": '{"command": "ls src"}'}
    call = {"id": "c", "type": "function", "function": function}
    found = list(continuation([
        {"role": "assistant", "content": "Let me look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "a.py"},
        {"role": "user", "content": "and <|im_end|>?"},
        {"role": "assistant", "content": "x " * 4_000},
    ]))  # fmt: skip
    scored = [(text, mark) for text, mark in found if mark in SCORED and text]
    assert scored[:2] == [("Let me look.", TEXT), ('{"command": "ls src"}', ARGUMENTS)]
    assert len(scored[2][0]) == 2_000
    assert len(scored) == 3
    assert "".join(text for text, _ in found).count("<|im_end|>") == 4


def test_a_session_counts_by_its_mean_and_intervals_are_by_session() -> None:
    """Gains are summed over sessions: one in which nothing is to be gained counts less."""
    rows = [
        ReaderLosses(key=str(at), family="f", body=100, used={FULL: 100, NONE: 0, "foldaway": 20},
                     losses={NONE: [3.0, 1.0], FULL: [1.0, 1.0], "foldaway": [ours, 1.0]})
        for at, ours in enumerate((1.0, 2.0, 3.0, 2.0))
    ]  # fmt: skip
    line = {one.system: one for one in reader_lines(rows)}["foldaway"]
    assert line.kept is not None
    assert line.kept.share == pytest.approx(0.5)
    assert line.kept.low < 0.5 < line.kept.high
    assert (line.loss, line.used, line.sessions) == (1.5, 0.2, 4)


def test_a_server_that_gives_no_probabilities_is_named() -> None:
    """And one that does not answer; both with what to do."""

    def silent(path: str, body: Any) -> Any:
        found = answer_echo(path, body)
        if body is not None:
            found["choices"][0]["logprobs"] = None
        return found

    with serving(silent) as address:
        model = open_reader(address)
        with pytest.raises(NotReadable, match="no probabilities of the prompt"):
            model.losses("a", [("b", TEXT)])
    with pytest.raises(NotReadable, match="does not answer"):
        open_reader(address)
    with pytest.raises(NotReadable, match="neither a URL nor a folder"):
        open_reader("no-such-folder")


def test_texts_leave_as_token_ids_and_losses_come_back(session: LabSession, tmp_path: Path) -> None:
    """In the arrays that a script on another machine scores: ids, marks, and a table."""
    numpy = pytest.importorskip("numpy")
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = tmp_path / "tokenizer.json"
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0, "the": 1}, "[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.save(str(vocabulary))
    case = reader_case(session, TRIED, 0.3)
    assert case is not None
    texts, losses = tmp_path / "texts.npz", tmp_path / "losses.npz"
    assert write_texts(texts, [case], str(vocabulary)) == 1
    with numpy.load(texts) as arrays:
        marks = arrays[f"{case.key}|marks"]
        assert len(arrays[f"{case.key}|after"]) == len(marks)
        assert set(marks.tolist()) == {0, 1, 2, 3}
        marked = numpy.flatnonzero(marks)
        back = {f"{case.key}|{name}": numpy.full(len(marked), float(len(name)))
                for name in case.used}  # fmt: skip
        back |= {f"{case.key}|marks": marks[marked], "table": arrays["table"]}
        numpy.savez(losses, **back)
    (row,) = read_losses(losses)
    assert row.used == case.used
    assert set(row.losses["foldaway"]) == {8.0}
    assert len(row.losses[FULL]) == sum(mark in SCORED for mark in marks.tolist())
    with pytest.raises(NotReadable, match="is not a tokenizer"):
        write_texts(texts, [case])
    with pytest.raises(NotReadable, match="holds no losses"):
        read_losses(texts.with_name("absent.npz"))


def test_a_token_belongs_to_the_piece_in_which_it_starts() -> None:
    """Pieces may end inside a token."""
    pieces = [("ab c", 0), ("d ef", TEXT), (" g", 0)]

    def words(text: str) -> tuple[list[int], list[tuple[int, int]]]:
        found = list(re.finditer(r"\w+", text))
        return list(range(len(found))), [match.span() for match in found]

    assert tokens_of(words, pieces) == ([0, 1, 2, 3], [0, 0, TEXT, 0])


def test_the_command_skips_writes_and_reports(
    session: LabSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a model it says so; texts and losses are files that it writes and reads."""

    def run(*given: str) -> int:
        monkeypatch.setattr(sys, "argv", ["bench/reader.py", *given])
        return reader.main()

    assert run() == 0
    assert "skipped: neither a file nor --model" in capsys.readouterr().out
    source, texts = tmp_path / "set.jsonl", tmp_path / "texts.jsonl"
    source.write_text(json.dumps({"id": session.id, "messages": session.messages}))
    asked = ["--min-tokens", "1", "--set", str(source)]
    assert run(str(texts), *asked) == 0
    assert "1 sessions written" in capsys.readouterr().out
    with serving(answer_echo) as address:
        assert run("--model", address, *asked) == 0
    shown = capsys.readouterr().out
    assert re.search(r"masking +1 +0\.\d+ +\d\.\d+ +0\.\d+", shown)
