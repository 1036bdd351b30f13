"""aider's `.aider.chat.history.md`: chats one after the other, each detected from its lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from msgspec import Struct

from foldaway.agents.importers.files import seconds
from foldaway.agents.importers.imported import AnswerUsage, ImportedSession, SessionDraft, file_stem

HISTORY = ".aider.chat.history.md"
HEADING = "# aider chat started at "
_USER = "####"
_CONSOLE = ">"
_MODEL = ("Model: ", "Models: ", "Main model: ")
_SPEAKERS = {"user": "user", "console": "user", "assistant": "assistant"}
CONSOLE_MARK = "[console]"
_USED = re.compile(
    r"Tokens: (?P<sent>[\d.,]{1,12}k?) sent,"
    r"(?: (?P<write>[\d.,]{1,12}k?) cache write,)?(?: (?P<read>[\d.,]{1,12}k?) cache hit,)?"
    r" (?P<received>[\d.,]{1,12}k?) received\.(?: Cost: \$(?P<cost>[\d.]{1,12}) )?"
)
"""What aider prints after an answer, rounded to thousands in later versions."""


def is_history(line: str) -> bool:
    """Return whether a line is the heading of a chat."""
    return line.startswith(HEADING)


def read(lines: Iterable[bytes], path: str) -> Iterator[ImportedSession]:
    """Yield each chat of a history that holds words; runs of lines of one speaker are a message.

    `####` is the user and `>` is what aider printed; all else is the model. What aider printed
    was not said by anyone: it stands as the user's, under a mark of its own. The last message may
    still be growing: what a longer file gives in its place begins with it. A history under its
    usual name is in the folder of the project.
    """
    is_usual = os.path.basename(path) == HISTORY
    folder = os.path.dirname(os.path.abspath(path)) if is_usual else ""
    for number, (started, date, chat) in enumerate(_chats(_whole(lines))):
        draft = SessionDraft(f"{file_stem(path)}/{number + 1}" + (f" {started}" if started else ""))
        when = seconds(date, is_local=True)
        draft.cwd = folder
        for speaker, run in groupby(chat, key=lambda line: line.speaker):
            said = list(run)
            words = "\n".join(line.words for line in said).strip("\n")
            if speaker == "console":
                draft.model = _model(said) or draft.model
                words = f"{CONSOLE_MARK}\n{words}" if words.strip() else ""
            if words.strip():
                item = {"role": _SPEAKERS[speaker], "content": words}
                draft.add(item, "", when, f"line {said[0].number}")
            if speaker == "console":
                _take_usage(draft, said)
        yield from draft.finish("aider", "openai-chat", path)


def _whole(lines: Iterable[bytes]) -> Iterator[str]:
    """Yield the lines as text; of a last one without its end, what a longer file would keep.

    That is nothing of what may become a heading or a mark, and no half character.
    """
    for line in lines:
        said = line.decode("utf-8", "replace")
        if line.endswith(b"\n"):
            yield said
        elif not any(mark.startswith(said) for mark in (HEADING, f"{_USER} ", f"{_CONSOLE} ")):
            said = said.rstrip("\ufffd")
            if not said.startswith(HEADING):
                yield said


class _Line(Struct, frozen=True, gc=False):
    number: int
    speaker: str
    words: str


def _chats(lines: Iterable[str]) -> Iterator[tuple[str, str, Iterator[_Line]]]:
    """Yield when each chat started by its heading, its date, and its lines.

    What comes before the first heading is a chat too, and as old as the one after it.
    """
    chat: list[_Line] = []
    started = ""
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\r\n")
        if is_history(line):
            following = line[len(HEADING) :].strip()
            yield started, started or following, iter(chat)
            started, chat = following, []
        else:
            chat.append(_line(number, line, chat[-1] if chat else None))
    yield started, started, iter(chat)


def _line(number: int, line: str, before: _Line | None) -> _Line:
    if line == _USER or line.startswith(f"{_USER} "):
        return _Line(number, "user", line[len(_USER) + 1 :].rstrip())
    if line == _CONSOLE or line.startswith(f"{_CONSOLE} "):
        return _Line(number, "console", line[len(_CONSOLE) + 1 :].rstrip())
    if not line.strip() and before is not None:
        return _Line(number, before.speaker, "")
    return _Line(number, "assistant", line)


def _model(lines: Iterable[_Line]) -> str:
    for line in lines:
        for mark in _MODEL:
            if line.words.startswith(mark):
                return line.words[len(mark) :].split(" ", 1)[0].rstrip(",")
    return ""


def _take_usage(draft: SessionDraft, lines: Iterable[_Line]) -> None:
    for line in lines:
        found = _USED.match(line.words)
        if found is not None:
            read, write = _tokens(found["read"]), _tokens(found["write"])
            draft.add_usage(
                AnswerUsage(
                    input_tokens=_tokens(found["sent"]),
                    output_tokens=_tokens(found["received"]),
                    cache_read_tokens=read,
                    cache_write_tokens=write,
                    cost=_dollars(found["cost"]),
                )
            )


def _tokens(said: str | None) -> int:
    """Return a count as aider prints it: `9,359`, `12k`, `1.2k`."""
    try:
        number = float((said or "0").removesuffix("k").replace(",", ""))
    except ValueError:
        return 0
    return round(number * 1000) if said and said.endswith("k") else round(number)


def _dollars(said: str | None) -> float | None:
    try:
        return float(said) if said else None
    except ValueError:
        return None
