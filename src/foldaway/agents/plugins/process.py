"""The process behind a plug-in: requests as lines of JSON in, answers out, until the agent ends.

It is started by the plug-in and speaks with nobody else: no port, no token, no other host.
"""

from __future__ import annotations

from typing import BinaryIO

import msgspec

from foldaway.agents.plugins.answering import AgentSessions, EndAnswer, EndRequest

_MOST_BYTES = 64 << 20
"""Of one line, as for a request to the gateway; the providers take 32 MB."""


def serve_end(sessions: AgentSessions, lines: BinaryIO, answers: BinaryIO) -> None:
    """Answer line by line; a line that cannot be answered gets the name of what failed."""
    requests, encoder = msgspec.json.Decoder(EndRequest), msgspec.json.Encoder()
    while line := lines.readline(_MOST_BYTES):
        try:
            asked = requests.decode(line)
        except msgspec.DecodeError:
            continue  # without an id no answer can be given
        try:
            answer = sessions.answer(asked)
        # An agent must not fail because of us.
        except Exception as error:  # noqa: BLE001
            sessions.forget(asked.session)
            answer = EndAnswer(id=asked.id, error=type(error).__name__)
        try:
            answers.write(encoder.encode(answer) + b"\n")
            answers.flush()
        except OSError:
            return  # the agent is gone
