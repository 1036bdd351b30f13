"""What a plug-in asks, and what it is answered; one conversation at a time.

The process behind a plug-in is started by it and speaks with nobody else: no port, no token, no
other host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, BinaryIO, Literal

import msgspec
from msgspec import Struct

from foldaway._core import Policy
from foldaway.agents.hooks import facts_of, framed_facts
from foldaway.agents.importers import OpenCodeForm, PiForm
from foldaway.agents.plugins.list_edits import Built, ConvertedList, HostForm
from foldaway.compaction import message_tokens
from foldaway.dialects import dump_bytes, load
from foldaway.engine import brief_of
from foldaway.search import Filters
from foldaway.sessions import Pool, Session, SessionOptions, discover, internals, transcript_of
from foldaway.stores import NewSession, Store
from foldaway.summarizers import Writers
from foldaway.transcript import Estimator, Message, Payload

FORMS: Mapping[str, HostForm] = {"opencode": OpenCodeForm(), "pi": PiForm(), "openclaw": PiForm()}
"""How the messages of each agent are written."""
_MOST_SESSIONS = 32
"""Conversations that are held open at once; others are taken up from the store. Chosen: an agent
has one, and one for each subagent."""
_MOST_BYTES = 64 << 20
"""Of one line, as for a request to the gateway; the providers take 32 MB."""
_FACTS_TOKENS = 2_000
"""Of the facts for a compaction, and again after it, as `foldaway hook` gives by default."""


class EndRequest(Struct, frozen=True, kw_only=True):
    """One line of a plug-in."""

    id: int
    do: Literal["view", "head", "summary", "facts", "dropped", "call"]
    """A view of a list; a list that a model of the agent summarizes, so that it fits; the summary
    of a list that the agent folds; facts for a summary that the agent writes, or those that such
    a summary dropped; or an answer to one of our tools."""
    session: str
    """The agent's own name of the conversation."""
    messages: list[Payload] = []
    model: str = ""
    window: int = 0
    """Of the model, in tokens; 0 if the agent does not say."""
    focus: str = ""
    summary: str = ""
    tool: str = ""
    arguments: Payload = {}
    cwd: str = ""


class EndAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line for a plug-in."""

    id: int
    edits: list[list[int] | list[Payload]] | None = None
    """From the agent's list to what is sent: `[start, stop]` are its own messages, every other list
    has messages to put there. None if its list stays as it is."""
    tokens: int = 0
    """Of the view, by an estimate."""
    text: str = ""
    error: str = ""
    """What failed, without content; the agent goes on without an answer."""


class _Held(Struct):
    """A conversation that is open, and the answer whose usage was taken last."""

    session: Session
    model: str
    window: int
    answers: int = -1


class AgentSessions:
    """The conversations of one agent."""

    def __init__(
        self,
        agent: str,
        store: Store,
        *,
        context_length: int | None = None,
        policy: Policy | None = None,
        summarizer: Writers | None = None,
    ) -> None:
        """Take an agent of `FORMS`, where its conversations are kept, and what settings say."""
        self._agent, self._store, self._window = agent, store, context_length
        self._form = FORMS[agent]
        self._make_session = partial(Session, store, policy=policy, summarizer=summarizer)
        self._writes = summarizer is not None
        self._held = Pool[str, _Held](_MOST_SESSIONS)

    def answer(self, asked: EndRequest) -> EndAnswer:
        """Return the answer to a request; raises whatever goes wrong."""
        held = self._conversation(asked)
        match asked.do:
            case "view":
                return self._view(held, asked)
            case "head":
                return self._head(held, asked)
            case "summary":
                return EndAnswer(id=asked.id, text=self._summary(held, asked))
            case "facts" | "dropped":
                facts = facts_of(
                    self._whole_log(held.session), asked.summary, _FACTS_TOKENS, asked.focus
                )
                framed = framed_facts(facts, is_after=asked.do == "dropped")
                return EndAnswer(id=asked.id, text=framed)
            case "call":
                return EndAnswer(id=asked.id, text=self._call_tool(held.session, asked))

    def serve(self, lines: BinaryIO, answers: BinaryIO) -> None:
        """Answer line by line; a line that cannot be answered gets the name of what failed."""
        requests, encoder = msgspec.json.Decoder(EndRequest), msgspec.json.Encoder()
        while line := lines.readline(_MOST_BYTES):
            try:
                asked = requests.decode(line)
            except msgspec.DecodeError:
                continue  # without an id no answer can be given
            try:
                answer = self.answer(asked)
            # An agent must not fail because of us.
            except Exception as error:  # noqa: BLE001
                self.forget(asked.session)
                answer = EndAnswer(id=asked.id, error=type(error).__name__)
            try:
                answers.write(encoder.encode(answer) + b"\n")
                answers.flush()
            except OSError:
                return  # the agent is gone

    def forget(self, name: str) -> None:
        """Let go of a conversation after a fault; the store has it."""
        self._held.drop(name)

    def _conversation(self, asked: EndRequest) -> _Held:
        held = self._held.get(asked.session)
        model = asked.model or (held.model if held else "")
        window = asked.window or (held.window if held else 0)
        return self._held.take(
            asked.session,
            lambda: self._open(asked, model, window),
            is_fit=lambda one: (one.model, one.window) == (model, window),
        )

    def _open(self, asked: EndRequest, model: str, window: int) -> _Held:
        new = NewSession(dialect="anthropic", source=self._agent, model=model, cwd=asked.cwd)
        session = self._make_session(
            f"live:{asked.session}",
            model=model,
            context_length=self._window or window or None,
            options=SessionOptions(background=self._writes, new=new),
        )
        return _Held(session, model, window)

    def _view(self, held: _Held, asked: EndRequest) -> EndAnswer:
        given = ConvertedList(asked.messages, self._form)
        followed = held.session.follow(given.messages, usage=self._new_usage(held, asked))
        tokens = internals(held.session).engine.estimate()
        if not followed.is_changed:
            return EndAnswer(id=asked.id, tokens=tokens)
        edits = [
            one.messages if isinstance(one, Built) else [one.start, one.stop]
            for one in given.convert_edits(followed.edits)
        ]
        return EndAnswer(id=asked.id, edits=edits, tokens=tokens)

    def _head(self, held: _Held, asked: EndRequest) -> EndAnswer:
        """Return the record of a list in its place, if the list fills most of the window.

        What was folded in views is still in the agent's own list, which a model is to summarize.
        """
        given = ConvertedList(asked.messages, self._form)
        budget = internals(held.session).engine.settings.budget
        if not given.messages:
            return EndAnswer(id=asked.id)
        head, counter = load(list(given.messages), dialect="anthropic"), Estimator()
        size = sum(message_tokens(one, counter) for one in head.messages)
        if size <= budget.hard_tokens:
            return EndAnswer(id=asked.id, tokens=size)
        brief = brief_of(head, tokens=budget.summary_max_tokens)
        told = {"role": "user", "content": brief.text}
        return EndAnswer(
            id=asked.id, edits=[self._form.built([told], None, asked.messages)], tokens=brief.tokens
        )

    def _whole_log(self, session: Session) -> list[Message]:
        """Return the log, and before it those of before the agent's own compactions."""
        info, logs = session.info, list[Sequence[Message]]([internals(session).engine.log.messages])
        while info.descent == "compression" and info.parent_id:
            info = self._store.session(info.parent_id)
            logs.insert(0, transcript_of(self._store, info).messages)
        return [message for log in logs for message in log]

    def _new_usage(self, held: _Held, asked: EndRequest) -> Payload | None:
        """Return what the newest answer used, if it came since the list before."""
        used = [found for own in asked.messages if (found := self._form.usage_of(own)) is not None]
        is_new, held.answers = 0 <= held.answers < len(used), len(used)
        return used[-1] if is_new else None

    def _call_tool(self, session: Session, asked: EndRequest) -> str:
        """Return what a tool says; a search looks also behind compactions of the agent's own."""
        wanted = asked.arguments.get("text")
        if asked.tool != "foldaway_search" or not isinstance(wanted, str) or not wanted.strip():
            return session.call(asked.tool, asked.arguments)
        filters = Filters(sessions=tuple(one.id for one in self._store.lineage(session.id)))
        hits = discover(self._store, wanted, filters=filters, current=session.id, around=0)
        found = [f"message {hit.position}: {hit.snippet}" for hit in hits]
        return "\n".join(found) or "nothing that was folded has that text or its words"

    def _summary(self, held: _Held, asked: EndRequest) -> str:
        given: list[Any] = list(ConvertedList(asked.messages, self._form).messages)
        if not given:
            return ""
        held.session.follow(given, when="never")
        return internals(held.session).follower.record(
            request=dump_bytes({"messages": given}), focus=asked.focus
        )
