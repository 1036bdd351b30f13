"""The clients of the providers themselves, wrapped, in a loop that keeps its list in a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).parents[1])

from playing import Case, play, read_file

from foldaway import wrap

READ = {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}}


class Wire:
    """What differs from provider to provider: how to ask, and what a list looks like."""

    def __init__(self, case: Case, options: dict[str, Any]) -> None:
        self.case, self.options = case, options

    def wrapped(self, client: Any) -> Any:
        if self.case.strategy != "foldaway":
            return client
        made = wrap(client, self.case.thread, **self.options)
        self.sessions = made.foldaway
        return made

    def called(self, name: str, arguments: dict[str, Any]) -> str:
        if name == "read_file":
            return read_file(**arguments)
        return self.sessions.answer(self.case.thread, name, arguments)


class Chat(Wire):
    dialect = "openai-chat"

    def said(self, text: str) -> dict[str, Any]:
        return {"role": "user", "content": text}

    def client(self, kind: str) -> Any:
        import openai

        made = openai.AsyncOpenAI if kind == "aask" else openai.OpenAI
        url = f"{self.case.url}/v1"
        return self.wrapped(made(base_url=url, api_key="none", max_retries=0))

    def tools(self) -> list[Any]:
        function = {"name": "read_file", "description": "Read.", "parameters": READ}
        return [{"type": "function", "function": function}, *self.sessions.tools(self.dialect)]

    def request(self, listed: list[Any]) -> dict[str, Any]:
        return {"model": self.case.model, "messages": listed, "tools": self.tools()}

    def send(self, client: Any, listed: list[Any]) -> Any:
        return client.chat.completions.create(**self.request(listed))

    def stream(self, client: Any, listed: list[Any]) -> Any:
        chat = client.chat if hasattr(client.chat.completions, "stream") else client.beta.chat
        with chat.completions.stream(**self.request(listed)) as events:
            for _ in events:
                pass
            return events.get_final_completion()

    def taken(self, answer: Any, listed: list[Any]) -> tuple[str, list[Any]]:
        message = answer.choices[0].message
        listed.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
        for call in listed[-1].get("tool_calls") or []:
            call["function"].pop("parsed_arguments", None)
        calls = message.tool_calls or []
        results = [
            {"role": "tool", "tool_call_id": one.id,
             "content": self.called(one.function.name, json.loads(one.function.arguments))}
            for one in calls
        ]  # fmt: skip
        return message.content or "", results


class Responses(Chat):
    dialect = "openai-responses"

    def tools(self) -> list[Any]:
        read = {"type": "function", "name": "read_file", "description": "Read.", "parameters": READ}
        return [{**read, "strict": False}, *self.sessions.tools(self.dialect)]

    def request(self, listed: list[Any]) -> dict[str, Any]:
        return {
            "model": self.case.model, "input": listed, "tools": self.tools(), "store": False,
            "reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"],
        }  # fmt: skip

    def send(self, client: Any, listed: list[Any]) -> Any:
        return client.responses.create(**self.request(listed))

    def stream(self, client: Any, listed: list[Any]) -> Any:
        # one that is left to the collector closes itself within a request, and waits for its lock
        with client.responses.create(**self.request(listed), stream=True) as events:
            for event in events:
                if event.type == "response.completed":
                    return event.response
        raise AssertionError(f"no answer in the stream, which ended with {event!r:.300}")

    def taken(self, answer: Any, listed: list[Any]) -> tuple[str, list[Any]]:
        given = [one.model_dump(exclude_none=True) for one in answer.output]
        listed.extend(given)
        results = [
            {"type": "function_call_output", "call_id": one["call_id"],
             "output": self.called(one["name"], json.loads(one["arguments"]))}
            for one in given if one["type"] == "function_call"
        ]  # fmt: skip
        return answer.output_text, results


class Messages(Wire):
    dialect = "anthropic"

    def said(self, text: str) -> dict[str, Any]:
        return {"role": "user", "content": text}

    def client(self, kind: str) -> Any:
        import anthropic

        made = anthropic.AsyncAnthropic if kind == "aask" else anthropic.Anthropic
        return self.wrapped(made(base_url=self.case.url, api_key="none", max_retries=0))

    def request(self, listed: list[Any]) -> dict[str, Any]:
        read = {"name": "read_file", "description": "Read.", "input_schema": READ}
        return {
            "model": self.case.model, "messages": listed, "max_tokens": 4_000,
            "tools": [read, *self.sessions.tools(self.dialect)], "thinking": {"type": "adaptive"},
        }  # fmt: skip

    def send(self, client: Any, listed: list[Any]) -> Any:
        return client.messages.create(**self.request(listed))

    def stream(self, client: Any, listed: list[Any]) -> Any:
        with client.messages.stream(**self.request(listed)) as events:
            return events.get_final_message()

    def taken(self, answer: Any, listed: list[Any]) -> tuple[str, list[Any]]:
        blocks = [one.model_dump(exclude_none=True) for one in answer.content]
        kept = [
            {name: value for name, value in one.items() if name not in ("parsed_output", "caller")}
            for one in blocks
        ]
        listed.append({"role": "assistant", "content": kept})
        results = [
            {"type": "tool_result", "tool_use_id": one["id"],
             "content": self.called(one["name"], one["input"])}
            for one in blocks if one["type"] == "tool_use"
        ]  # fmt: skip
        text = "".join(one.get("text", "") for one in blocks)
        return text, [{"role": "user", "content": results}] if results else []


class Gemini(Wire):
    dialect = "gemini"

    def said(self, text: str) -> dict[str, Any]:
        return {"role": "user", "parts": [{"text": text}]}

    def client(self, kind: str) -> Any:
        from google import genai

        options = genai.types.HttpOptions(base_url=self.case.url)
        made = self.wrapped(genai.Client(api_key="none", http_options=options))
        return made.aio if kind == "aask" else made

    def request(self, listed: list[Any]) -> dict[str, Any]:
        read = {"name": "read_file", "description": "Read.", "parameters_json_schema": READ}
        own = [
            {"name": one["name"], "description": one["description"],
             "parameters_json_schema": one["parameters"]}
            for tool in self.sessions.tools(self.dialect) for one in tool["functionDeclarations"]
        ]  # fmt: skip
        config = {
            "tools": [{"function_declarations": [read, *own]}],
            "automatic_function_calling": {"disable": True},
        }
        return {"model": self.case.model, "contents": listed, "config": config}

    def send(self, client: Any, listed: list[Any]) -> Any:
        return client.models.generate_content(**self.request(listed))

    def stream(self, client: Any, listed: list[Any]) -> Any:
        chunks = list(client.models.generate_content_stream(**self.request(listed)))
        whole = chunks[-1]
        parts = [part for one in chunks for part in one.candidates[0].content.parts]
        whole.candidates[0].content.parts = parts
        return whole

    def taken(self, answer: Any, listed: list[Any]) -> tuple[str, list[Any]]:
        content = answer.candidates[0].content.model_dump(exclude_none=True, mode="json")
        listed.append(content)
        results = [
            {"function_response": {"name": one.name, "response": {
                "output": self.called(one.name, one.args)}}}
            for one in answer.function_calls or []
        ]  # fmt: skip
        said = "".join(one.get("text", "") for one in content["parts"])
        return said, [{"role": "user", "parts": results}] if results else []


WIRES = {"chat": Chat, "responses": Responses, "messages": Messages, "gemini": Gemini}


class Loop:
    """An agent in a loop."""

    def __init__(self, case: Case) -> None:
        options = {"store": case.store, "context_length": case.window, "on_error": "raise"}
        self.wire = WIRES[case.wire](case, options)
        self.client, path = self.wire.client(case.mode), case.kept()
        self.path, self.list = path, json.loads(path.read_text()) if path.exists() else []

    def ask(self, text: str) -> str:
        return self._loop(text, self.wire.send)

    def stream(self, text: str) -> str:
        return self._loop(text, self.wire.stream)

    def _loop(self, text: str, send: Any) -> str:
        self.list.append(self.wire.said(text))
        while True:
            said, results = self.wire.taken(send(self.client, self.list), self.list)
            self.list += results
            self.path.write_text(json.dumps(self.list))
            if not results:
                return said

    async def aask(self, text: str) -> str:
        self.list.append(self.wire.said(text))
        while True:
            answer = await self.wire.send(self.client, self.list)
            said, results = self.wire.taken(answer, self.list)
            self.list += results
            self.path.write_text(json.dumps(self.list))
            if not results:
                return said


if __name__ == "__main__":
    play(Loop)
