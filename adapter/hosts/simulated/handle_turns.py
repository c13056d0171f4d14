"""The methods that start, steer and stop work (`msp.md §12, §15, §16, §22`)."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import TYPE_CHECKING, Any, Final

from adapter.hosts.simulated import approvals, questions
from adapter.hosts.simulated.errors import invalid, refusal, rejected
from adapter.hosts.simulated.handle_sessions import store
from adapter.hosts.simulated.ledger import backpressured
from adapter.hosts.simulated.params import flag, optional_text, rows, text, word
from adapter.hosts.simulated.roots import asked_roots
from adapter.hosts.simulated.session import Session
from adapter.hosts.simulated.turns import INTERRUPTED, Driver, launch, show_prompt
from adapter.hosts.simulated.view import Json

if TYPE_CHECKING:
    from adapter.hosts.simulated.host import Host

QUEUE_CAPACITY: Final = 64
"""Turns that may wait in one session."""


def start(host: Host, params: Json) -> Json:
    """`turn/start`."""
    session = host.session(params)
    command_id = params["commandId"]
    prompt = read_prompt(host, session, params)
    mode = word(params, "ifBusy", ("queue", "steer", "replace"), "queue")
    if "reasoningEffort" in params:
        word(params, "reasoningEffort", host.profile.efforts)
    roots = asked_roots(host.profile, params, session.facts["workspaceRoot"])
    if roots is not None:
        if mode == "steer":
            raise invalid("workspaceRoots", "a turn that runs keeps its folders")
        prompt["roots"] = roots
    prompt |= {"turnId": command_id, "commandId": command_id}
    running = session.running
    if running is not None and mode == "steer":
        host.after_answer(lambda: _steer(session, running, prompt))
        return _ack(params, running.turn.id, disposition="steered", startedNewTurn=False)
    if len(session.waiting) >= QUEUE_CAPACITY:
        raise backpressured(QUEUE_CAPACITY)
    store(host, session)
    session.prompts[command_id] = prompt
    session.note("prompt", prompt)
    session.view.queued[command_id] = {"turnId": command_id, "commandId": command_id}
    if running is None:
        host.after_answer(lambda: launch(host, session, command_id))
        return _ack(params, command_id, disposition="started", startedNewTurn=True)
    if mode == "replace":
        session.waiting.appendleft(command_id)
        host.after_answer(lambda: running.stop("replaced by a newer prompt"))
        return _ack(params, command_id, disposition="started", startedNewTurn=True)
    session.waiting.append(command_id)
    return _ack(params, command_id, disposition="queued", startedNewTurn=False)


def read_prompt(host: Host, session: Session, params: Json) -> Json:
    """The input parts as one prompt: `text`, `displayText`, `attachments`, `skill`, and `seen`, a line for each part.

    Raises:
        RpcError: no parts, or one that is not to be used.
    """
    parts = rows(params, "input")
    if not parts:
        raise invalid("input", "at least one part is required")
    texts: list[str] = []
    prompt: Json = {"attachments": [], "seen": []}
    for part in parts:
        kind = part.get("type")
        if kind not in host.profile.parts:
            raise invalid("input", f"no parts of type {kind!r}")
        if kind == "text":
            texts.append(text(part, "text"))
            prompt["seen"].append(f"text {len(part['text'])} chars")
        elif kind == "image":
            image, line = _image(part)
            prompt["attachments"].append(image)
            prompt["seen"].append(line)
        elif kind == "skill":
            skill = _skill(session, part)
            if part is parts[0]:
                prompt["skill"] = skill
            spoken = f"{skill['selector']} {skill['arguments']}".strip()
            texts.append(f"/{spoken}")
            prompt["seen"].append(f"skill {spoken}")
        else:
            raise refusal("uploadNotFound", "nothing has been uploaded", uploadId=text(part, "uploadId"))
    prompt["text"] = "".join(texts)
    if optional_text(params, "displayText") is not None:
        prompt["displayText"] = params["displayText"]
    return prompt


def _image(part: Json) -> tuple[Json, str]:
    media = text(part, "mediaType")
    try:
        whole = base64.b64decode(text(part, "base64Data"), validate=True)
    except binascii.Error:
        whole = b""
    if not whole:
        raise invalid("input", "an image needs base64Data")
    if ("width" in part) != ("height" in part):
        raise invalid("input", "an image has both width and height or neither")
    line = f"image {media} {len(whole)} bytes sha256:{hashlib.sha256(whole).hexdigest()[:16]}"
    size: Json = {key: part[key] for key in ("width", "height") if key in part}
    return {"type": "image", "mediaType": media, **size}, line


def _skill(session: Session, part: Json) -> Json:
    selector = text(part, "selector")
    if all(row["selector"] != selector for row in session.skills):
        raise refusal("skillNotFound", f"there is no skill {selector}", selector=selector)
    return {"selector": selector, "arguments": optional_text(part, "arguments") or ""}


def _ack(params: Json, turn_id: str, **members: Any) -> Json:
    return {"commandId": params["commandId"], "status": "accepted", "turnId": turn_id, **members}


def _steer(session: Session, driver: Driver, prompt: Json) -> None:
    if not driver.ended:
        driver.turn.steered.append(prompt["text"])
        show_prompt(session, driver.turn, prompt, steered=True)


def steer(host: Host, params: Json) -> Json:
    """`turn/steer`: only into exactly that running turn."""
    session = host.session(params)
    expected = text(params, "expectedTurnId")
    prompt = {**read_prompt(host, session, params), "commandId": params["commandId"]}
    driver = session.running
    if driver is None or driver.turn.id != expected:
        raise rejected(params["commandId"], "turn_not_running")
    host.after_answer(lambda: _steer(session, driver, prompt))
    return _ack(params, expected)


def interrupt(host: Host, params: Json) -> Json:
    """`turn/interrupt`; `retract` also takes the prompt back if nothing of the answer is committed yet."""
    session, driver = _running(host, params)
    retract = flag(params, "retract", False)

    def stop() -> None:
        if retract:
            _retract(session, driver, params["commandId"])
        driver.stop(INTERRUPTED)

    host.after_answer(stop)
    return _ack(params, driver.turn.id)


def _retract(session: Session, driver: Driver, command_id: str) -> None:
    if driver.ended:
        return
    turn = driver.turn
    outcome = "declined" if driver.drafts else "accepted"
    session.emit("turn/retracted", {"turnId": turn.id, "commandId": command_id, "outcome": outcome}, run=turn.id)
    if outcome == "accepted":
        message = next(item for item in session.view.items.values() if item.get("commandId") == turn.command_id)
        again = {**message, "revision": message["revision"] + 1, "retracted": True}
        session.emit("item/completed", {"item": again}, run=turn.id)


def cancel(host: Host, params: Json) -> Json:
    """`turn/cancel`."""
    _, driver = _running(host, params)
    host.after_answer(lambda: driver.stop("cancelled by the client"))
    return _ack(params, driver.turn.id)


def _running(host: Host, params: Json) -> tuple[Session, Driver]:
    session = host.session(params)
    wanted, driver = optional_text(params, "turnId"), session.running
    if driver is None or (wanted is not None and wanted != driver.turn.id):
        raise rejected(params["commandId"], "missing_run")
    return session, driver


def unqueue(host: Host, params: Json) -> Json:
    """`turn/unqueue`: take a queued prompt back before it is launched."""
    session = host.session(params)
    turn_id = text(params, "turnId")
    if turn_id not in session.waiting:
        raise rejected(params["commandId"], "not_queued")
    session.waiting.remove(turn_id)
    command_id = session.prompts[turn_id]["commandId"]

    def tell() -> None:
        session.emit("turn/unqueued", {"turnId": turn_id, "commandId": command_id})

    host.after_answer(tell)
    return _ack(params, turn_id)


def stop_all(host: Host, session: Session, reason: str = "the host shut down") -> None:
    """End everything that runs or waits in a session."""
    waiting = list(session.waiting)
    session.waiting.clear()
    if session.running is not None:
        session.running.stop(reason)
    for driver in list(session.tasks.values()):
        driver.stop(reason)
    for turn_id in waiting:
        session.emit("turn/completed", {"turnId": turn_id, "terminal": "cancelled", "reason": reason})


HANDLERS: Final[dict[str, Any]] = {
    "turn/start": start,
    "turn/steer": steer,
    "turn/interrupt": interrupt,
    "turn/cancel": cancel,
    "turn/unqueue": unqueue,
    "approval/decide": lambda host, params: approvals.decide(host, host.asking_session(params), params),
    "userInput/answer": lambda host, params: questions.answer(host, host.session(params), params),
    "userInput/cancel": lambda host, params: questions.cancel(host, host.session(params), params),
    "userInput/clarify": lambda host, params: questions.clarify(host, host.session(params), params),
    "userInput/interrupt": lambda host, params: questions.interrupt(host, host.session(params), params),
}
