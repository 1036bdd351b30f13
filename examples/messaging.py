"""A chat behind a webhook, as Telegram's and Slack's are: many users, many processes, for weeks.

STORE=postgresql://… REPLY_URL=https://… uvicorn --app-dir examples --workers 8 messaging:app

POST /chat/USER {"id": "7", "text": "Hello"} is acknowledged when the message is durable. The answer
is posted to REPLY_URL as {"chat": "/chat/USER", "text": …}.
"""

import os

import httpx
from openai import OpenAI
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.routing import Route

from foldaway import Session, open_store
from foldaway.commands import Commands, as_text
from foldaway.sessions import Inbox, InboxWorker

MODEL, WINDOW = os.environ.get("MODEL", "gpt-5-mini"), int(os.environ.get("WINDOW", "200000"))
store, reply_url = open_store(os.environ["STORE"]), os.environ["REPLY_URL"]
ask, platform = OpenAI().chat.completions.create, httpx.Client()


async def receive(request):
    inbox, update = Inbox(store, request.url.path), await request.json()
    text, is_command = update["text"], Commands.is_command(update["text"])
    await run_in_threadpool(inbox.put, text, message_id=update["id"], is_command=is_command)
    worker.wake(inbox)
    return Response()


def answer(inbox):
    for turn in inbox.turns():  # none if another process has the turn: it takes this message, too
        session, line = Session(store, inbox.key, model=MODEL, context_length=WINDOW), turn.command
        text = as_text(Commands(session).run(line)) if line else talk(session, turn)
        platform.post(reply_url, json={"chat": inbox.key, "text": text}).raise_for_status()


def talk(session, turn):
    turn.take(session)  # it compacts first, if there is hardly room for what came
    while True:
        last = session.messages[-1]  # says what is next; another process may have begun this turn
        if calls := last.get("tool_calls"):
            said = [(call["id"], session.call(**call["function"])) for call in calls]
            session.append(*({"role": "tool", "tool_call_id": i, "content": s} for i, s in said))
            turn.take(session)  # what the user said meanwhile steers the next step
        elif last["role"] == "assistant":
            return last["content"]
        else:
            done = session.send(ask, model=MODEL, tools=session.tools())
            session.append(done)
            session.used(done.usage)


worker = InboxWorker(store, answer)  # it also answers what a process that is gone left behind
app = Starlette(routes=[Route("/chat/{user}", receive, methods=["POST"])])
