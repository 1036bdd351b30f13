"""A log as steps: what was called, what came of it, which tests ran, what goes on in background."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, TypeAlias, cast

from foldaway.lab.scoring.session import TOOL_WORDS, Message, content_text, decode_arguments
from foldaway.lab.scoring.shell import shell_commands
from foldaway.lab.scoring.signals import has_failed, to_line, without_colors
from foldaway.lab.scoring.words import WORDS, pattern

TESTING = "run tests"
"""The purpose of every test run, whatever runs it."""
Outcome: TypeAlias = Literal["passed", "failed", "unknown"]

_RUNS = re.compile(rf"(?:{WORDS['tests']['runs']})", re.IGNORECASE | re.VERBOSE)
_FAILED, _PASSED = pattern("tests", "failed"), pattern("tests", "passed")
_COUNTED = pattern("tests", "counted")
_STARTED = pattern("running", "started", re.MULTILINE | re.DOTALL)
_ENDED, _GOES_ON = pattern("running", "ended"), pattern("running", "goes_on")
_STOPS = re.compile(rf"(?:{WORDS['running']['stops']})\Z", re.IGNORECASE | re.VERBOSE)
_POLLS = re.compile(rf"(?:{WORDS['running']['polls']})\Z", re.IGNORECASE | re.VERBOSE)
_IDS = WORDS["running"]["ids"].split()
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_PREFIXES = frozenset(
    {"env", "time", "sudo", "nohup", "command", "exec", "nice", "timeout", "xvfb-run", "rtk"}
)
_WRAPPERS = frozenset(tuple(one.split()) for one in TOOL_WORDS["runners"])
_SHELL_KEYS = ("command", "cmd", "script")
_EXITED = re.compile(r"^(?:Process exited with code|Exit code:?) (\d+)", re.MULTILINE)
_NOTICE = re.compile(r"<task-notification>|<subagent_notification>|<task_notification>")
_TRAILER = re.compile(r"(?:\s*(?:2>&1|\|\s*(?:head|tail|grep|tee)\b[^|&;]*|>\s*/dev/null))+\Z")
_FILTER = re.compile(r" -(?:run|k|t|g|-grep|-filter)\b|::")
"""In a line, that it runs only some tests."""
_HEAD_CHARS = 2_000
"""Of a result, in which it says that its job goes on."""
_VERBOSE = 20_000
"""Characters of a shell line; what is longer is a file in a here-document."""


@dataclass
class LogStep:
    """One call and all that was heard from it until the end of the log."""

    at: int
    """The message with the call."""
    until: int
    """The last message with a result of it."""
    tool: str
    values: dict[str, Any]
    line: str
    """The shell line; empty if the call is none."""
    result: str = ""
    job: str = ""
    """The id of its process, if it went on in the background."""
    is_answered: bool = False
    has_ended: bool = True
    """Whether its process is over; a job that nobody heard of again goes on."""
    is_loose: bool = False
    """Whether it was put into the background by the shell itself: nothing says when it ends."""
    words: list[list[str]] = field(default_factory=list[list[str]])
    """The simple commands of the line, without assignments and prefixes."""

    @property
    def has_failed(self) -> bool:
        """Whether its result says that it did not do its work."""
        return self.is_answered and has_failed(self.result)

    @property
    def purposes(self) -> list[str]:
        """What it is for: program and verb of each command, or the tool and its target."""
        if not self.line:
            return [f"{self.tool} {_target(self.values)}".strip()]
        return list(dict.fromkeys(map(_purpose, self.words)))


def steps_of(messages: Sequence[Message]) -> list[LogStep]:
    """Return the calls of a log in order, each with what was heard from it."""
    steps: list[LogStep] = []
    waiting: dict[str, LogStep] = {}
    jobs: dict[str, LogStep] = {}
    for at, message in enumerate(messages):
        for call in message.get("tool_calls") or ():
            step = _step(at, call)
            steps.append(step)
            waiting[str(call.get("id"))] = step
        if message["role"] == "tool":
            step = waiting.pop(str(message.get("tool_call_id")), None)
            if step is not None:
                _hear(step, at, without_colors(content_text(message)), jobs)
        elif message["role"] == "user" and _NOTICE.search(text := content_text(message)[:4_000]):
            for job, step in jobs.items():
                if job in text and _ENDED.search(text):
                    step.has_ended, step.until = True, at
    return steps


def _step(at: int, call: dict[str, Any]) -> LogStep:
    name = str(call["function"].get("name", "")).rpartition(".")[2]
    values = decode_arguments(str(call["function"].get("arguments") or ""))
    line = next((values[key] for key in _SHELL_KEYS if values.get(key)), "")
    if isinstance(line, list):
        line = _join_words(cast("list[Any]", line))
    if name.startswith("str_replace") or not isinstance(line, str):
        line = ""
    step = LogStep(at, at, name, values, line)
    if line:
        step.words = simple_commands(line[:_VERBOSE])
        step.is_loose = bool(re.search(r"(?<!&)&\s*(?:\Z|\n|echo|sleep|disown)", line[:_VERBOSE]))
    return step


def _join_words(words: list[Any]) -> str:
    parts = list(map(str, words))
    is_script = len(parts) >= 3 and re.fullmatch(r"-\w*c", parts[1])
    return parts[2] if is_script else " ".join(parts)


@lru_cache(maxsize=4_096)
def _simple(line: str) -> tuple[tuple[str, ...], ...]:
    found: list[tuple[str, ...]] = []
    for command in shell_commands(line):
        words = list(command.words)
        while words and (words[0] in _PREFIXES or _ASSIGNED.match(words[0])):
            is_timeout = words.pop(0) == "timeout"
            while is_timeout and words and re.match(r"-|\d", words[0]):
                words.pop(0)
        found.append(tuple(_strip_wrapper(words)))
    return tuple(words for words in found if words)


def _strip_wrapper(words: list[str]) -> list[str]:
    """Return the command that a tool such as `mise exec --` or `uv run` starts."""
    if tuple(words[:2]) not in _WRAPPERS:
        return words
    rest = words[words.index("--") + 1 :] if "--" in words[:6] else words[2:]
    return rest or words


def simple_commands(line: str) -> list[list[str]]:
    """Return the words of each simple command of a line, without assignments and prefixes."""
    return [list(words) for words in _simple(line)]


def _hear(step: LogStep, at: int, text: str, jobs: dict[str, LogStep]) -> None:
    """Take a result; what is heard from a job belongs to the step that started it."""
    step.is_answered, step.until = True, at
    named = [str(step.values[key]) for key in _IDS if key in step.values]
    known = [jobs[job] for job in jobs if any(job in name for name in named)]
    if known and (_STOPS.match(step.tool) or _POLLS.match(step.tool)):
        for job in known:
            job.until = at
            if _STOPS.match(step.tool):
                job.has_ended = True
            else:
                job.result += "\n" + text
                job.has_ended = not _GOES_ON.search(text) and bool(_ENDED.search(text))
        step.result = text
        return
    step.result = text
    if found := _STARTED.search(text[:_HEAD_CHARS]):
        step.job = next(filter(None, found.groups()))
        step.has_ended = False
        jobs[step.job] = step


def _purpose(words: Sequence[str]) -> str:
    if is_test(words):
        return TESTING
    name = posixpath.basename(words[0])
    rest = [word for word in words[1:] if not word.startswith("-")]
    if rest[:1] == ["run"] and name != "go":  # a task, which has the name that counts
        rest = rest[1:]
    plain = bool(rest) and bool(re.fullmatch(r"[a-z][\w:-]{1,30}", rest[0]))
    return f"{name} {rest[0]}" if plain else name


def _target(values: dict[str, Any]) -> str:
    for key in ("file_path", "filePath", "path", "file_name", "notebook_path"):
        if isinstance(values.get(key), str):
            return posixpath.basename(values[key])
    return ""


def is_test(words: Sequence[str]) -> bool:
    """Return whether a simple command runs tests."""
    line = " ".join([posixpath.basename(words[0]) if "/" in words[0] else words[0], *words[1:8]])
    return bool(_RUNS.match(line) or _RUNS.match(" ".join(words[:8])))


def runs_tests(step: LogStep) -> bool:
    """Return whether a step ran tests."""
    return any(map(is_test, step.words))


def test_outcome(step: LogStep) -> Outcome:
    """Return how a test run went as a whole, by what it printed and by its exit code.

    An exit code of several commands, or of a pipe, may be another command's.
    """
    if not step.is_answered:
        return "unknown"
    body = step.result
    exits = _EXITED.findall(body)
    is_alone = len(step.words) == 1
    if _is_failure_text(body):
        is_sure = is_alone and exits and exits[-1] == "0" and "|" not in step.line
        return "passed" if is_sure and _PASSED.search(body) else "failed"
    if step.job and not step.has_ended:
        return "unknown"
    if _PASSED.search(body):
        return "passed" if is_alone or not step.has_failed else "unknown"
    if step.has_failed:
        return "failed" if is_alone else "unknown"
    return "passed" if exits and exits[-1] == "0" and "|" not in step.line else "unknown"


def _is_failure_text(body: str) -> bool:
    """Return whether an output says that tests failed: by a sure sign, or in its summary."""
    if _FAILED.search(body):
        return True
    if not _COUNTED.search(body):
        return False
    lines = [line for line in body.split("\n") if _COUNTED.search(line) or _PASSED.search(line)]
    return bool(_COUNTED.search(lines[-1]))


def test_counts(step: LogStep) -> dict[str, set[int]]:
    """Return the numbers that a run printed beside `passed` and `failed`."""
    found: dict[str, set[int]] = {"passed": set(), "failed": set()}
    for number, word in re.findall(r"\b(\d{1,6}) (?:tests? )?(passed|failed)\b", step.result):
        found[word].add(int(number))
    return found


def is_same_run(claimed: str, step: LogStep) -> bool:
    """Return whether a run is the claimed one, or runs all that it ran."""
    line = _plain(step.line)
    one = _TRAILER.sub("", _plain(claimed))
    if _TRAILER.sub("", line) == one or ("…" in claimed and line.startswith(one)):
        return True
    if _FILTER.search(line.replace(one, "")):
        return False
    return one in line or any(_runs_all(words, one) for words in step.words)


def _runs_all(words: Sequence[str], claimed: str) -> bool:
    """Return whether a command is the claimed runner on everything that there is."""
    runner = " ".join(words[:2]).lower()
    paths = [word for word in words[2:] if not word.startswith("-")]
    return is_test(words) and runner in claimed and all(path == "./..." for path in paths)


def is_same_command(claimed: str, line: str) -> bool:
    """Return whether a record means a line; it may have clipped it, or left out where it ran."""
    one, other = _plain(claimed), _plain(line)
    return bool(one) and (
        other.startswith(one) or one in other or (len(other) > 6 and other in one)
    )


def _plain(line: str) -> str:
    text = to_line(line).partition("…")[0]
    return re.sub(r"\A(?:cd \S+ ?(?:&&|;) ?)", "", text).strip("` ").lower()


def running_jobs(steps: Sequence[LogStep]) -> Iterator[LogStep]:
    """Yield the steps whose job goes on at the end of the log."""
    return (step for step in steps if step.job and not step.has_ended)
