"""Stands for a coding agent: does what its first argument says, and prints what happens to it."""

import http.client
import os
import signal
import sys
import time
from urllib.parse import urlsplit


def say(*words: object) -> None:
    os.write(1, f"{' '.join(map(str, words))}\n".encode())


def watch(names: str) -> None:
    """Print signals as they come; end with 9 at SIGTERM, and with 5 at the second SIGINT."""
    count: dict[str, int] = {}

    def note(number: int, _: object) -> None:
        name = signal.Signals(number).name
        count[name] = count.get(name, 0) + 1
        size = os.get_terminal_size() if name == "SIGWINCH" else ""
        say(name, count[name], *size)
        if name == "SIGTERM" or count.get("SIGINT") == 2:
            sys.exit(9 if name == "SIGTERM" else 5)

    seen, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told)  # a signal just before `pause` would be noticed at the next one
    for name in names.split(","):
        signal.signal(getattr(signal, name), note)
    say("ready")
    while True:
        os.read(seen, 1)


def wait() -> None:
    """Let every signal do what it does by itself."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    say("ready")
    while True:
        signal.pause()


def stop() -> None:
    """Stop alone, as a program does that reads the keys itself."""
    say("ready")
    os.kill(os.getpid(), signal.SIGSTOP)
    say("goes on")
    sys.exit(4)


def ask(times: str, pause: str = "") -> None:
    """Ask the provider so many times, one connection each; wait for a line in between."""
    base = urlsplit(os.environ["GOOGLE_GEMINI_BASE_URL"])
    path = f"{base.path}/v1beta/models/gemini-2.5-pro:generateContent"
    for _ in range(int(times)):
        link = http.client.HTTPConnection(base.netloc, timeout=30)
        link.request("POST", path, b'{"contents": []}', {"content-type": "application/json"})
        answer = link.getresponse()
        say(answer.status, answer.read().decode(), answer.getheader("x-foldaway"))
        if pause:
            sys.stdin.readline()


def copy() -> None:
    """Copy standard input to standard output, and say something on standard error."""
    sys.stderr.write("copied\n")
    for line in sys.stdin:
        sys.stdout.write(line)
        sys.stdout.flush()


def flood() -> None:
    """Write until nobody reads."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    while True:
        os.write(1, b"x" * 10_000)


def signals() -> None:
    """Say which signals are ignored and which are blocked."""
    every = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    ignored = sorted(one for one in every if signal.getsignal(one) is signal.SIG_IGN)
    say("ignored", *map(int, ignored), "blocked", *sorted(signal.pthread_sigmask(0, ())))


def end(code: str) -> None:
    sys.exit(int(code))


def die(name: str) -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.kill(os.getpid(), getattr(signal, name))
    time.sleep(10)


if __name__ == "__main__":
    {one.__name__: one for one in (watch, wait, stop, ask, copy, flood, signals, end, die)}[
        sys.argv[1]
    ](*sys.argv[2:])
