"""Ways to ask a model for token probabilities: a server, a model in this process, or a file.

An OpenAI-compatible server that echoes the prompt with `logprobs` (vLLM, llama-cpp-python), the
server of llama.cpp, a folder that transformers loads, or files: the texts to be scored somewhere
else, and the losses that come back.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from foldaway.errors import NotReadable
from reader_cases import ARGUMENTS, GIVEN, NAME, SCORED, TEXT, ReaderCase, ReaderLosses

PACKAGES = "'torch>=2.5,<3' 'transformers>=4.46,<6' 'tokenizers>=0.20,<1' 'numpy>=1.26,<3'"
"""What a model in this process and files of token ids need; a server needs none of it."""
_SECONDS = 600
"""That one answer may take: a long prompt on a small machine."""
_TOP = 1_000
"""Tokens whose probability the server of llama.cpp is asked for. One that is not among them counts
as likely as the last: its loss is at least that, and it is large anyway."""
_WINDOW = 512
"""Tokens whose probabilities are computed together; all at once would not fit into memory."""


class ReaderModel(Protocol):
    """Anything that tells how likely it finds the pieces of a continuation."""

    def losses(self, context: str, after: Sequence[tuple[str, int]]) -> list[float]:
        """Return the loss of each scored token of the continuation, in nats."""
        ...


def ask(model: ReaderModel, case: ReaderCase) -> ReaderLosses:
    """Return what a model says about a case, system by system."""
    losses = {name: model.losses(text, case.after) for name, text in case.contexts.items()}
    return ReaderLosses(
        key=case.key, family=case.family, body=case.body, used=case.used, losses=losses
    )


def open_reader(address: str, model: str = "") -> ReaderModel:
    """Return the model at an address: a URL, or a folder with weights.

    Raises `NotReadable` if nothing answers there, or without transformers.
    """
    if not address.startswith(("http://", "https://")):
        return TransformersReader(Path(address))
    root = address.rstrip("/").removesuffix("/v1")
    try:
        _get(f"{root}/props")
        return LlamaReader(root)
    except NotReadable:
        return EchoReader(f"{root}/v1", model)


class EchoReader:
    """A server with OpenAI's completions that gives the log probabilities of its prompt."""

    def __init__(self, url: str, model: str = "") -> None:
        self._url = url
        self._model = model or str(_get(f"{url}/models")["data"][0]["id"])

    def losses(self, context: str, after: Sequence[tuple[str, int]]) -> list[float]:
        """Ask for one more token, so that servers that take 0 for no limit stop too."""
        prompt = context + "".join(text for text, _ in after)
        body = {
            "model": self._model,
            "prompt": prompt,
            "max_tokens": 1,
            "echo": True,
            "logprobs": 1,
            "temperature": 0,
        }
        found: Any = _post(f"{self._url}/completions", body)["choices"][0].get("logprobs") or {}
        offsets: list[int] = found.get("text_offset") or []
        values: list[float | None] = found.get("token_logprobs") or []
        if not values or len(offsets) != len(values):
            raise NotReadable(
                "gives no probabilities of the prompt",
                where=self._url,
                remedy="use a server that supports `echo` with `logprobs`, or write --texts",
            )
        spans = _spans(len(context), after)
        return [
            -value
            for offset, value in zip(offsets, values, strict=True)
            if value is not None and any(start <= offset < end for start, end in spans)
        ]


class LlamaReader:
    """The server of llama.cpp. It tells only what may come next, so it is asked token by token."""

    def __init__(self, root: str) -> None:
        self._root = root

    def losses(self, context: str, after: Sequence[tuple[str, int]]) -> list[float]:
        """The prompt stays in the server's cache: a question costs one token."""
        text = context + "".join(piece for piece, _ in after)
        asked = {"content": text, "add_special": False, "parse_special": True, "with_pieces": True}
        tokens: list[Any] = _post(f"{self._root}/tokenize", asked)["tokens"]
        ids, sizes = [token["id"] for token in tokens], [_size(token["piece"]) for token in tokens]
        bytes_before = len(context.encode(errors="replace"))
        spans = _spans(
            bytes_before, [(piece.encode(errors="replace"), mark) for piece, mark in after]
        )
        found: list[float] = []
        at = 0
        for index, size in enumerate(sizes):
            if index and any(start <= at < end for start, end in spans):
                found.append(self._loss(ids[:index], ids[index]))
            at += size
        return found

    def _loss(self, prompt: list[int], token: int) -> float:
        body = {
            "prompt": prompt,
            "n_predict": 1,
            "n_probs": _TOP,
            "temperature": 0,
            "post_sampling_probs": False,
            "cache_prompt": True,
        }
        rows: list[Any] = (
            _post(f"{self._root}/completion", body).get("completion_probabilities") or []
        )
        top: list[Any] = rows[0].get("top_logprobs") or [] if rows else []
        if not top:
            raise NotReadable(
                "gives no probabilities",
                where=self._root,
                remedy="update llama.cpp: `top_logprobs` came in December 2024",
            )
        known = {row["id"]: float(row["logprob"]) for row in top}
        return -known.get(token, min(known.values()))


def _size(piece: Any) -> int:
    """Return the bytes of a piece; one that is no whole character comes as a list of bytes."""
    return len(piece) if isinstance(piece, list) else len(str(piece).encode(errors="replace"))


def _spans(start: int, after: Sequence[tuple[str | bytes, int]]) -> list[tuple[int, int]]:
    """Return where the scored pieces stand."""
    found: list[tuple[int, int]] = []
    for piece, mark in after:
        if mark in SCORED and piece:
            found.append((start, start + len(piece)))
        start += len(piece)
    return found


class TransformersReader:
    """A model in this process, loaded from a folder by transformers."""

    def __init__(self, folder: Path, device: str = "") -> None:
        if not folder.is_dir():
            raise NotReadable(
                "is neither a URL nor a folder with a model",
                where=str(folder),
                remedy="give --model http://HOST:PORT, or a folder that transformers can load",
            )
        try:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer
        except ModuleNotFoundError as error:
            raise NotReadable(
                "a reader in this process needs packages", remedy=f"pip install {PACKAGES}"
            ) from error
        self._torch: Any = torch
        self._device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        loaded: Any = AutoModelForCausalLM.from_pretrained(folder, torch_dtype="auto")
        self._model = loaded.to(self._device).eval()

    def losses(self, context: str, after: Sequence[tuple[str, int]]) -> list[float]:
        """One pass over the context and the continuation."""
        torch = self._torch
        before = list(self._tokenizer(context, add_special_tokens=False)["input_ids"])
        ids, marks = tokens_of(self._tokenize, after)
        whole = torch.tensor([*before, *ids], device=self._device)
        places = [len(before) + at for at, mark in enumerate(marks) if mark in SCORED]
        found: list[float] = []
        head = self._model.get_output_embeddings()
        with torch.inference_mode():
            made = self._model.base_model(input_ids=whole[None], use_cache=False)
            for at in range(0, len(places), _WINDOW):
                here = torch.tensor(places[at : at + _WINDOW], device=self._device)
                logits = head(made.last_hidden_state[0][here - 1]).float()
                loss = torch.nn.functional.cross_entropy(logits, whole[here], reduction="none")
                found += loss.tolist()
        return found

    def _tokenize(self, text: str) -> tuple[Sequence[int], Sequence[tuple[int, int]]]:
        made = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        return made["input_ids"], made["offset_mapping"]


def tokens_of(tokenize: Any, after: Sequence[tuple[str, int]]) -> tuple[list[int], list[int]]:
    """Return the tokens of a continuation, and of each the mark of the piece that it starts in."""
    ids, offsets = tokenize("".join(text for text, _ in after))
    ends: list[tuple[int, int]] = []
    at = 0
    for text, mark in after:
        at += len(text)
        ends.append((at, mark))
    marks: list[int] = []
    piece = 0
    for start, _ in offsets:
        while piece < len(ends) - 1 and start >= ends[piece][0]:
            piece += 1
        marks.append(ends[piece][1])
    return list(ids), marks


def write_texts(path: Path, cases: Iterable[ReaderCase], tokenizer: str = "") -> int:
    """Write what is to be scored, and return how many sessions that are.

    `NAME.jsonl` holds the texts; `NAME.npz` holds token ids by the tokenizer of a file
    (`tokenizer.json`): `KEY|SYSTEM`, `KEY|after`, `KEY|marks`, and `table`.
    """
    rows = list(cases)
    if path.suffix != ".npz":
        path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
        return len(rows)
    numpy, encode = _packages(tokenizer)
    arrays: dict[str, Any] = {}
    for row in rows:
        for name, text in row.contexts.items():
            arrays[f"{row.key}|{name}"] = numpy.array(encode(text)[0], dtype=numpy.int32)
        ids, marks = tokens_of(encode, row.after)
        arrays[f"{row.key}|after"] = numpy.array(ids, dtype=numpy.int32)
        kept = [mark if mark in (TEXT, ARGUMENTS, NAME) else GIVEN for mark in marks]
        arrays[f"{row.key}|marks"] = numpy.array(kept, dtype=numpy.int8)
    table = [
        {
            "key": row.key,
            "family": row.family,
            "kind": "whole",
            "file": row.family,
            "body": row.body,
            "used": row.used,
            "summary": {},
        }
        for row in rows
    ]
    arrays["table"] = numpy.frombuffer(json.dumps(table).encode(), dtype=numpy.uint8)
    numpy.savez_compressed(path, **arrays)
    return len(rows)


def _packages(tokenizer: str) -> tuple[Any, Any]:
    try:
        import numpy
        from tokenizers import Tokenizer
    except ModuleNotFoundError as error:
        raise NotReadable(
            "writing token ids needs packages", remedy=f"pip install {PACKAGES}"
        ) from error
    if not tokenizer or not Path(tokenizer).is_file():
        raise NotReadable(
            "is not a tokenizer",
            where=tokenizer or "--tokenizer",
            remedy="give the model's tokenizer.json, or write texts as NAME.jsonl",
        )
    loaded = Tokenizer.from_file(tokenizer)

    def encode(text: str) -> tuple[Sequence[int], Sequence[tuple[int, int]]]:
        made = loaded.encode(text, add_special_tokens=False)
        return made.ids, made.offsets

    return numpy, encode


def read_losses(path: Path) -> list[ReaderLosses]:
    """Return the losses that a file holds; of `NAME.npz` those of text and arguments.

    Raises `NotReadable` if it holds none.
    """
    try:
        if path.suffix != ".npz":
            lines = path.read_bytes().splitlines()
            return [msgspec.json.decode(line, type=ReaderLosses) for line in lines]
        import numpy

        with numpy.load(path) as arrays:
            return [_from_arrays(arrays, row) for row in json.loads(arrays["table"].tobytes())]
    except ModuleNotFoundError as error:
        raise NotReadable(
            "reading losses needs packages", remedy=f"pip install {PACKAGES}"
        ) from error
    except (OSError, ValueError, KeyError, msgspec.DecodeError) as error:
        raise NotReadable(
            f"holds no losses ({type(error).__name__})",
            where=str(path),
            remedy="give what a reader wrote for the file of --texts",
        ) from None


def _from_arrays(arrays: Any, row: dict[str, Any]) -> ReaderLosses:
    scored = [mark in SCORED for mark in arrays[f"{row['key']}|marks"].tolist()]
    losses = {
        name: [
            value
            for value, counts in zip(arrays[f"{row['key']}|{name}"].tolist(), scored, strict=True)
            if counts
        ]
        for name in row["used"]
    }
    return ReaderLosses(
        key=row["key"], family=row["family"], body=row["body"], used=row["used"], losses=losses
    )


def _missing(what: str) -> NotReadable:
    return NotReadable(f"{what} needs packages", remedy=f"pip install {PACKAGES}")


def _get(url: str) -> Any:
    return _open(urllib.request.Request(url))


def _post(url: str, body: dict[str, Any]) -> Any:
    data = json.dumps(body).encode()
    return _open(urllib.request.Request(url, data, {"Content-Type": "application/json"}))


def _open(request: urllib.request.Request) -> Any:
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            return json.loads(answer.read())
    except (OSError, ValueError) as error:
        said = f" ({error.code})" if isinstance(error, urllib.error.HTTPError) else ""
        raise NotReadable(
            f"does not answer{said}",
            where=request.full_url,
            remedy="start the model's server, or write the texts with --texts",
        ) from None
