"""Which command lines only look."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.facts.ledger.outcome import is_look


@each_row("command", [
    "ls -la src", "sed -n '1,40p' a.go", "cd /srv && rg -n 'a|b;c' src | head -20", "git status",
    "git -C /srv diff --stat; git log -3", "cat a.txt 2>/dev/null", "which ffmpeg",
    'echo "=== a ===" && cat a.go', "git branch -a", "find . -name '*.go' | sort",
])  # fmt: skip
def test_a_look_is_known(command: str) -> None:
    """Alone, in a row and through filters; signs in quotes do not part a line."""
    assert is_look(command)


@each_row("command", [
    "", "make", "cd /srv && go test ./...", "which golangci-lint && golangci-lint run",
    "cat > a.txt", "cat <<'EOF' > a.txt\nls\nEOF", "find . -name '*.o' -delete",
    "git branch -D old", "git remote add origin x", "lsof", "echo x | tee a.txt",
    "env A=1 go test", "headless", "git diff && git commit -m x",
])  # fmt: skip
def test_what_does_something_is_no_look(command: str) -> None:
    """However much of it looks at something."""
    assert not is_look(command)


@given(command=st.text(st.sampled_from("ls|;&\n'\"\\ cat>{}()echo"), max_size=60))
def test_no_line_is_too_odd(command: str) -> None:
    """Whatever its quotes and signs are; a look through a filter is still a look."""
    if is_look(command) and not any(sign in command for sign in "'\"\\\n"):
        assert is_look(f"{command} | head -3")


@each_row("piece", ["'", '"', '\\"', "| head ", ";", " ", "cat ", "ls;", "a\n"])
def test_a_hostile_line_takes_linear_time(piece: str) -> None:
    """A million letters of it."""
    text = f"cat {piece * (1_000_000 // len(piece))}"
    started = time.process_time()
    is_look(text)
    assert time.process_time() - started < 1
