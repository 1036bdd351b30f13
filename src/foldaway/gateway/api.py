"""The REST API of a gateway, below `/foldaway`: what is in the store, and what can be done to it.

One table makes the routes and their OpenAPI description.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from inspect import iscoroutinefunction
from typing import Any, Final, TypeAlias, cast, get_type_hints

import msgspec
from msgspec import Struct
from msgspec.structs import fields, replace
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route

from foldaway import errors
from foldaway._core import __version__, log_event
from foldaway.dialects import dump_bytes, parse
from foldaway.gateway import actions, previewing
from foldaway.gateway.actions import ApiContext, NotThere
from foldaway.gateway.api_values import Asked, CompactAnswer, DeleteAnswer, NothingAsked, PinsAnswer
from foldaway.gateway.audit import CHANGED
from foldaway.gateway.events import SessionChanged, TooManyReaders
from foldaway.gateway.requests import unpack_body
from foldaway.sessions import PLACEHOLDER, SessionRow, as_it_is, beginning, show_json

ROOT: Final = "/foldaway"
JSON: Final = "application/json"
_MESSAGE_CHARS = 1_000
"""Of what an error says; it may quote what was asked."""
_PLACE = re.compile(r"\{(\w+)\}")
_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}

Action: TypeAlias = Callable[[ApiContext, Any], Any]


class Endpoint(Struct, frozen=True):
    """One row of the API. What it does, takes and answers is said by its action."""

    method: str
    path: str
    action: Action
    redacts: bool = True
    """Whether secrets are hidden in the answer; a list that is handed back stays as it is."""

    @property
    def name(self) -> str:
        """What the action is called, as programs in other languages write it."""
        first, *rest = self.action.__name__.split("_")
        return first + "".join(word.title() for word in rest)

    @property
    def asked(self) -> type[Asked]:
        """What a request holds."""
        return _hints(self.action)["asked"]

    @property
    def answer(self) -> Any:
        """What an answer holds."""
        return _hints(self.action)["return"]

    @property
    def places(self) -> tuple[str, ...]:
        """The parameters in its path."""
        return tuple(_PLACE.findall(self.path))


class ApiProblem(Struct, frozen=True):
    """What is wrong, in a sentence, and of which kind it is."""

    message: str
    kind: str


class ErrorAnswer(Struct, frozen=True):
    """What is said instead of an answer."""

    error: ApiProblem


class _Refused(Exception):
    """A request that is not answered, with the status of the answer that says so."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        self.status, self.kind = status, kind
        super().__init__(message)


async def stream_events(api: ApiContext, asked: NothingAsked) -> StreamingResponse:
    """Tell what happens, as server-sent events, until the client goes."""
    try:
        frames = api.events.listen()
    except TooManyReaders:
        raise _Refused(503, "TooManyReaders", "too many listen already; try again later") from None
    return StreamingResponse(frames, media_type="text/event-stream", headers=_HEADERS)


def describe_api(api: ApiContext, asked: NothingAsked) -> dict[str, Any]:
    """Describe this API in OpenAPI 3.1."""
    return openapi()


_SESSION = f"{ROOT}/sessions/{{id}}"
ENDPOINTS: Final = (
    Endpoint("GET", f"{ROOT}/sessions", actions.list_sessions),
    Endpoint("GET", _SESSION, actions.get_session),
    Endpoint("DELETE", _SESSION, actions.delete_session),
    Endpoint("GET", f"{_SESSION}/messages", actions.get_messages),
    Endpoint("GET", f"{_SESSION}/views", actions.list_views),
    Endpoint("GET", f"{_SESSION}/views/{{number}}", actions.get_step),
    Endpoint("GET", f"{_SESSION}/view", actions.get_view),
    Endpoint("POST", f"{_SESSION}/compact", actions.compact_session),
    Endpoint("POST", f"{_SESSION}/preview", previewing.preview_compaction),
    Endpoint("POST", f"{_SESSION}/budgets", previewing.preview_budgets),
    Endpoint("POST", f"{_SESSION}/fold", actions.fold_messages),
    Endpoint("POST", f"{_SESSION}/undo", actions.undo_compaction),
    Endpoint("POST", f"{_SESSION}/pins/{{position}}", actions.pin_message),
    Endpoint("DELETE", f"{_SESSION}/pins/{{position}}", actions.unpin_message),
    Endpoint("POST", f"{_SESSION}/fork", actions.fork_session),
    Endpoint("POST", "/api/sessions/{id}/fork", actions.fork_session),
    Endpoint("GET", f"{ROOT}/search", actions.search),
    Endpoint("GET", f"{ROOT}/recall/{{ref}}", actions.recall),
    Endpoint("POST", f"{ROOT}/compact", actions.compact_list, redacts=False),
    Endpoint("POST", f"{ROOT}/retention", actions.apply_retention),
    Endpoint("GET", f"{ROOT}/events", stream_events),
    Endpoint("GET", f"{ROOT}/openapi.json", describe_api, redacts=False),
)

_STATUS: Final[tuple[tuple[type[Exception], int], ...]] = (
    (errors.NotReadable, 400),
    (errors.UnknownSession, 404),
    (errors.UnknownReference, 404),
    (errors.UnknownPosition, 404),
    (NotThere, 404),
    (errors.AmbiguousSession, 409),
    (errors.Conflict, 409),
    (errors.LeaseLost, 409),
    (errors.NothingToUndo, 409),
    (errors.SummarizerFailed, 502),
    (errors.StoreUnavailable, 503),
    (errors.FoldawayError, 422),
    (msgspec.ValidationError, 422),
)
"""The status of an answer by the kind of error, the first that fits."""


def api_routes(api: ApiContext) -> list[BaseRoute]:
    """Return the routes of the API, for a server that asks who may ask."""
    beside = [_route(row, api, prefix="") for row in ENDPOINTS if not row.path.startswith(ROOT)]
    return [mount_api(api, ROOT), *beside]


def mount_api(api: ApiContext, at: str) -> Mount:
    """Return the API below a path: a server may have one for each of its stores."""
    routes = [_route(row, api) for row in ENDPOINTS if row.path.startswith(ROOT)]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _no_route})
    app.router.redirect_slashes = False
    return Mount(at, app=app)


def _route(row: Endpoint, api: ApiContext, prefix: str = ROOT) -> Route:
    async def answer(request: Request) -> Response:
        try:
            return await _answer(row, api, request)
        except ClientDisconnect:
            return Response(status_code=499)  # nobody reads it
        except Exception as error:  # noqa: BLE001 the boundary: nobody is shown a traceback
            return await run_in_threadpool(_problem, api, error)

    route = Route(row.path.removeprefix(prefix), answer, methods=[row.method], name=row.name)
    route.methods = {row.method}  # no HEAD: an event stream would go on behind it
    return route


async def _answer(row: Endpoint, api: ApiContext, request: Request) -> Response:
    asked = await _read(row, request, api.options.most_bytes)
    if iscoroutinefunction(row.action):
        return await cast("Callable[[ApiContext, Asked], Awaitable[Response]]", row.action)(
            api, asked
        )
    body, changed = await run_in_threadpool(_work, row, api, asked)
    request.scope[CHANGED] = changed
    return Response(body, media_type=JSON, headers=_HEADERS)


def _work(row: Endpoint, api: ApiContext, asked: Asked) -> tuple[bytes, Sequence[str]]:
    """Return an answer as JSON, and the sessions that were changed. The answer passes the redactor
    as a whole, which leaves JSON valid.
    """
    hides = row.redacts and getattr(asked, "redact", True)
    found = row.action(api if hides else replace(api, show=as_it_is), asked)
    changed = _list_changed(found)
    for session in changed:
        api.look_again(session)
        api.events.publish(SessionChanged(what=row.name, session=session))
    body = dump_bytes(found)
    return (show_json(body, api.show) if hides else body), changed


def _list_changed(found: object) -> tuple[str, ...]:
    """Return the sessions that an action changed, by what it answers."""
    match found:
        case SessionRow() | PinsAnswer():
            return (found.session,)
        case CompactAnswer(report=report) if report.status == "compacted":
            return (found.session,)
        case DeleteAnswer(erased=erased) if erased is not None:
            return tuple(row.session for row in found.sessions)
        case _:
            return ()


# What a request holds


async def _read(row: Endpoint, request: Request, most_bytes: int) -> Asked:
    """Return what a request holds, checked."""
    if row.method == "GET":
        given = _query(row, request)
    else:
        if request.query_params:
            raise _Refused(422, "ValidationError", "parameters belong into the body here")
        given = await _body(request, most_bytes)
    for name in row.places:
        if name in given:
            raise _Refused(422, "ValidationError", f"{name!r} belongs into the path")
    return msgspec.convert({**given, **request.path_params}, row.asked, strict=False)


def _query(row: Endpoint, request: Request) -> dict[str, Any]:
    many = {field.name for field in fields(row.asked) if field.default == ()}  # may be repeated
    found: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name in many:
            found.setdefault(name, []).append(value)
        elif name in found:
            raise _Refused(422, "ValidationError", f"{name!r} is given twice")
        else:
            found[name] = value
    return found


async def _body(request: Request, most_bytes: int) -> Mapping[str, Any]:
    """Return the object in a body. A form of a browser cannot send this type."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise _Refused(415, "WrongType", f"send JSON, with the header content-type: {JSON}")
    pieces: list[bytes] = []
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > most_bytes:
            raise _Refused(413, "TooLarge", f"the request is larger than {most_bytes:,} bytes")
        pieces.append(piece)
    return await run_in_threadpool(
        _object, b"".join(pieces), request.headers.get("content-encoding", ""), most_bytes
    )


def _object(body: bytes, encoding: str, most_bytes: int) -> Mapping[str, Any]:
    plain = unpack_body(body, encoding, most_bytes)
    if plain is None:
        raise errors.NotReadable("the body cannot be unpacked", remedy="send it as plain JSON")
    given: Any = parse(plain) if plain.strip() else {}
    if not isinstance(given, dict):
        raise errors.NotReadable("the body is not an object", remedy='send {"name": value, …}')
    return cast("dict[str, Any]", given)


# What is said instead of an answer


def _problem(api: ApiContext, error: Exception) -> Response:
    """Return the answer that says what is wrong, without secrets and without a traceback.

    The tag of a placeholder would tell whether a guess at a secret is right, so it is left out.
    """
    if isinstance(error, _Refused):
        return _refusal(error.status, error.kind, str(error))
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    kind = type(error).__name__
    if status == 500:
        log_event("gateway.api_failed", fault=kind)
        return _refusal(status, kind, "an error of the gateway; nothing was answered")
    try:
        shown = PLACEHOLDER.sub("[redacted]", api.show(str(error)))
    except errors.FoldawayError:  # the store does not give its key
        shown = kind
    return _refusal(status, kind, beginning(shown, _MESSAGE_CHARS))


def _refusal(status: int, kind: str, message: str) -> Response:
    return Response(problem_body(message, kind), status, _HEADERS, JSON)


def problem_body(message: str, kind: str) -> bytes:
    """Return what is said instead of an answer, as JSON."""
    return dump_bytes(ErrorAnswer(ApiProblem(message, kind)))


async def _no_route(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    known = f"{ROOT}/openapi.json describes what there is"
    message = "this path takes other methods" if status == 405 else f"no such path; {known}"
    return _refusal(status, "NoRoute", message)


# The description


@cache
def _hints(action: Action) -> Mapping[str, Any]:
    return get_type_hints(action)


@cache
def openapi() -> dict[str, Any]:
    """Return the OpenAPI 3.1 description of all endpoints."""
    answers = [row.answer for row in ENDPOINTS if not iscoroutinefunction(row.action)]
    schemas, parts = msgspec.json.schema_components(
        [*answers, ErrorAnswer], ref_template="#/components/schemas/{name}"
    )
    by_type = dict(zip([*map(str, answers), "error"], schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for row in ENDPOINTS:
        stream = iscoroutinefunction(row.action)
        content = (
            {"text/event-stream": {"schema": {"type": "string"}}}
            if stream
            else {JSON: {"schema": by_type[str(row.answer)]}}
        )
        paths.setdefault(row.path, {})[row.method.lower()] = {
            "operationId": row.name if row.path.startswith(ROOT) else f"{row.name}Alias",
            "summary": (row.action.__doc__ or "").strip().splitlines()[0],
            **_describe_parameters(row),
            "responses": {
                "200": {"description": "What was asked for.", "content": content},
                "default": {
                    "description": "What is wrong.",
                    "content": {JSON: {"schema": by_type["error"]}},
                },
            },
        }
    token = {"type": "apiKey", "in": "header", "name": "x-foldaway-token"}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Foldaway",
            "version": __version__,
            "description": "Sessions that a gateway keeps. Times are seconds since 1970.",
        },
        "paths": paths,
        "components": {"schemas": parts, "securitySchemes": {"token": token}},
        "security": [{"token": []}],
    }


def _describe_parameters(row: Endpoint) -> dict[str, Any]:
    """Return the parameters of an endpoint and the schema of its body."""
    _, parts = msgspec.json.schema_components([row.asked])
    schema = parts[row.asked.__name__]
    held: dict[str, dict[str, Any]] = schema["properties"]
    required = cast("Sequence[str]", schema.get("required", ()))
    parameters = [
        {
            "name": name,
            "in": "path" if name in row.places else "query",
            "required": name in required,
            "schema": held[name],
        }
        for name in held
        if row.method == "GET" or name in row.places
    ]
    if row.method == "GET":
        return {"parameters": parameters}
    body = {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: held[name] for name in held if name not in row.places},
        "required": [name for name in required if name not in row.places],
    }
    needed = bool(body["required"])
    content = {JSON: {"schema": body}}
    return {"parameters": parameters, "requestBody": {"required": needed, "content": content}}
