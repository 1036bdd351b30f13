"""What agents put between the user's words and into results, and what is left without it."""

from __future__ import annotations

_WHOLE = (
    "<environment_context>", "<user_instructions>", "<system-reminder>", "<local-command-",
    "<bash-stdout>", "<bash-stderr>", "<task-notification>", "<turn_aborted>",
    "<subagent_notification>", "<permissions instructions>", "<user-prompt-submit-hook>",
    "<user_shell_command>", "<INSTRUCTIONS>", "# AGENTS.md instructions for",
    "Caveat: The messages below", "[Request interrupted by user", "Base directory for this skill:",
    "This session is being continued from a previous conversation",
)  # fmt: skip
"""A text of the user's that begins so was not written by the user."""
_BLOCKS = (
    ("<system-reminder>", "</system-reminder>"),
    ("<environment_context>", "</environment_context>"),
    ("<local-command-caveat>", "</local-command-caveat>"),
)
_NAME = ("<command-name>", "</command-name>")
_ARGUMENTS = ("<command-args>", "</command-args>")
_DIRECTORY = ("<cwd>", "</cwd>")


def own_words(text: str) -> str:
    """Return what the user wrote of a text, verbatim: "" where an agent wrote all of it.

    Of a slash command it is what stands behind the command, or the command alone; of words around
    a block the longest stretch.
    """
    words = max(_stretches(text), key=len).strip()
    if _NAME[0] in words[:400]:
        return _between(words, *_ARGUMENTS).strip() or _between(words, *_NAME).strip()
    return "" if words.startswith(_WHOLE) else words


def without_blocks(text: str) -> str:
    """Return a text without the blocks that agents put into it; the same object without any."""
    for start, stop in _BLOCKS:
        if start in text:
            text = _removed(text, start, stop)
    return text


def _stretches(text: str) -> list[str]:
    """Return the stretches of a text between the blocks that agents put into it."""
    found = [text]
    for start, stop in _BLOCKS:
        if start in text:
            found = [piece for one in found for piece in _kept(one, start, stop)]
    return found


def directory_told(text: str) -> str:
    """Return the working directory that an agent tells its model, "" where it tells none."""
    return _between(text, *_DIRECTORY).strip() if "<environment_context>" in text[:400] else ""


def _removed(text: str, start: str, stop: str) -> str:
    return "".join(_kept(text, start, stop))


def _kept(text: str, start: str, stop: str) -> list[str]:
    kept: list[str] = []
    at = 0
    while (begin := text.find(start, at)) >= 0:
        end = text.find(stop, begin)
        if end < 0:
            break
        kept.append(text[at:begin])
        at = end + len(stop)
    kept.append(text[at:])
    return kept


def _between(text: str, start: str, stop: str) -> str:
    begin = text.find(start)
    end = text.find(stop, begin)
    return text[begin + len(start) : end] if 0 <= begin < end else ""
