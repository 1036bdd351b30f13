"""A program in the foreground of our terminal, as if it had been started without us.

It has our terminal, our process group and our standard streams, so keys, sizes, job control and
pipes are its own. Signals that somebody sends to us alone are sent on to it.
"""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Mapping, Sequence

_WATCHED = {
    signal.SIGCHLD,
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
}
_KEYS = {signal.SIGINT, signal.SIGQUIT}
"""What a terminal sends to all of the foreground."""
_SET_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
"""Ignored in our own process; the program gets what it would have had."""


def block_signals() -> set[int]:
    """Let signals wait for `run_in_foreground`; return those that waited before.

    Called before another thread starts, so that none of them takes a signal away.
    """
    signal.signal(signal.SIGCHLD, _ignore)
    return signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)


def _ignore(_: int, __: object) -> None:
    """Do nothing; without a handler some systems do not say that a child has ended."""


def run_in_foreground(
    program: str, arguments: Sequence[str], variables: Mapping[str, str], mask: set[int]
) -> int:
    """Run a program and return its exit code: minus the signal's number if one killed it."""
    child = os.posix_spawn(
        program, tuple(arguments), variables, setsigmask=mask, setsigdef=_SET_BY_PYTHON
    )
    while True:
        number, is_ours = _next_signal()
        if number == signal.SIGCHLD:
            pid, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
            if pid and os.WIFSTOPPED(status):
                _stop_too(child)
            elif pid:
                return os.waitstatus_to_exitcode(status)
        elif is_ours:
            os.kill(child, number)


def _next_signal() -> tuple[int, bool]:
    """Return the next signal, and whether we alone got it, so that it must be sent on."""
    if hasattr(signal, "sigwaitinfo"):
        info = signal.sigwaitinfo(_WATCHED)
        return info.si_signo, info.si_signo not in _KEYS or info.si_code <= 0
    number = signal.sigwait(_WATCHED)
    return number, number not in _KEYS or not _has_terminal()


def _has_terminal() -> bool:
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


def _stop_too(child: int) -> None:
    """Stop as the program did, so that the shell takes the terminal; go on together."""
    os.kill(os.getpid(), signal.SIGSTOP)
    os.kill(child, signal.SIGCONT)


def end_as(code: int) -> int:
    """Return the exit code of a program as our own; end by the signal that ended it."""
    if code >= 0:
        return code
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program has left its own
    if -code not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(-code, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {-code})
    os.kill(os.getpid(), -code)
    return 128 - code
