"""What a client does in the phases of a session: each step gives the answer that is judged."""

from __future__ import annotations

from collections.abc import Callable

from tests.adapter_process import Json, permission
from tests.faults.matrix.cell import HELLO, Cell, filled_in


def nothing(cell: Cell) -> None:
    """Nothing has to be there."""


def opened(cell: Cell) -> None:
    """A session with a past."""
    cell.session = cell.new_session()


def stored(cell: Cell) -> None:
    """A session with a past that has been closed."""
    cell.memory["stored"] = cell.new_session()
    cell.must("session/close", sessionId=cell.memory["stored"])


def nothing_asked(cell: Cell) -> Json:
    """The client has nothing to ask."""
    return {"result": {}}


# -- opening


def new(cell: Cell) -> Json:
    return _opening(cell, "session/new")


def load(cell: Cell) -> Json:
    return _opening(cell, "session/load", sessionId=cell.memory["stored"])


def resume(cell: Cell) -> Json:
    return _opening(cell, "session/resume", sessionId=cell.memory["stored"])


def fork(cell: Cell) -> Json:
    cell.memory["parent"] = cell.session
    return _opening(cell, "session/fork", sessionId=cell.session)


def _opening(cell: Cell, method: str, **params: str) -> Json:
    answer = cell.ask(method, cwd=str(cell.workspace), mcpServers=[], **params)
    if "result" in answer:
        cell.session = answer["result"].get("sessionId", params.get("sessionId"))
    return answer


def listing(cell: Cell) -> Json:
    return cell.ask("session/list")


def close(cell: Cell) -> Json:
    answer = cell.ask("session/close", sessionId=cell.session)
    cell.session = ""
    return answer


def delete(cell: Cell) -> Json:
    answer = cell.ask("session/delete", sessionId=cell.memory["stored"])
    cell.session = ""
    return answer


# -- turns


def prompting(text: str) -> Callable[[Cell], Json]:
    """A prompt, to its end."""
    whole = HELLO if text == "hello" else text
    return lambda cell: cell.answer(cell.prompt(cell.session, whole))


def working(cell: Cell) -> None:
    """A turn is under way."""
    opened(cell)
    cell.memory["prompt"] = cell.prompt(cell.session, "slow 600")
    cell.adapter.wait_for_update(lambda update: "This takes" in str(update.get("content")))


def queued(cell: Cell) -> None:
    """A turn is under way, and a prompt waits behind it."""
    working(cell)
    cell.memory["behind"] = cell.prompt(cell.session, HELLO)
    cell.wait_for_host(lambda frame: frame.get("result", {}).get("disposition") == "queued")


def cancel(cell: Cell) -> Json:
    cell.adapter.notify("session/cancel", {"sessionId": cell.session})
    return cell.answer(cell.memory["prompt"])


def cancel_both(cell: Cell) -> Json:
    cell.adapter.notify("session/cancel", {"sessionId": cell.session})
    cell.must_end(cell.memory["behind"], "cancelled")
    return cell.answer(cell.memory["prompt"])


def steer(cell: Cell) -> Json:
    turn = next(
        update["_meta"]["muse/activeTurnId"]
        for update in reversed(cell.adapter.updates(cell.session))
        if (update.get("_meta") or {}).get("muse/activeTurnId")
    )
    words = [{"type": "text", "text": "and more"}]
    answer = cell.ask("_muse/steer", sessionId=cell.session, expectedTurnId=turn, prompt=words)
    cell.adapter.notify("session/cancel", {"sessionId": cell.session})
    cell.answer(cell.memory["prompt"])
    return answer


# -- questions


def asking(cell: Cell) -> None:
    """A turn that waits for consent, with the question on the client's screen."""
    opened(cell)
    cell.memory["prompt"] = cell.prompt(cell.session, "approve")
    cell.memory["question"] = cell.next_request("session/request_permission")


def approve(cell: Cell) -> Json:
    """A prompt whose question is answered as soon as it comes, every time that it is put."""
    cell.consent_to_all()
    return cell.answer(cell.prompt(cell.session, "approve"))


def decide(cell: Cell) -> Json:
    cell.consent_to_all()
    cell.allow(cell.memory["question"])
    return cell.answer(cell.memory["prompt"])


def _refusing(answer: Json | None) -> Callable[[Cell], Json]:
    """Whatever is asked is answered so; without an answer, by the option that rejects. No form is filled in."""

    def of(request: Json) -> Json:
        if request["method"] != "session/request_permission":
            return {"result": {"action": "decline"}}
        options = request["params"]["options"]
        rejects = next(each["optionId"] for each in options if each["kind"] == "reject_once")
        return permission(rejects) if answer is None else answer

    def refuse(cell: Cell) -> Json:
        cell.adapter.answer = of
        cell.reply(cell.memory["question"], of(cell.memory["question"]))
        return cell.answer(cell.memory["prompt"])

    return refuse


reject = _refusing(None)
refuse_by_error = _refusing({"error": {"code": -32601, "message": "no such method"}})
refuse_oddly = _refusing(permission("nobody-has-offered-it"))
refuse_by_stopping = _refusing({"result": {"outcome": {"outcome": "cancelled"}}})


def allow_too_late(cell: Cell) -> Json:
    cell.adapter.notify("session/cancel", {"sessionId": cell.session})
    answer = cell.answer(cell.memory["prompt"])
    cell.allow(cell.memory["question"])
    return answer


def form(cell: Cell) -> None:
    """A turn that waits for an answer, with the form on the client's screen."""
    opened(cell)
    cell.memory["prompt"] = cell.prompt(cell.session, "ask")
    cell.memory["question"] = cell.next_request("elicitation/create")


def asked_in_text(cell: Cell) -> None:
    """A turn that waits for an answer, for which the next message is taken."""
    opened(cell)
    cell.must_end(cell.prompt(cell.session, "ask"), "end_turn")


def fill_in(cell: Cell) -> Json:
    cell.fill_in_all()
    cell.reply(cell.memory["question"], filled_in(cell.memory["question"]))
    return cell.answer(cell.memory["prompt"])


def decline(cell: Cell) -> Json:
    cell.fill_in_all()
    cell.reply(cell.memory["question"], {"result": {"action": "decline"}})
    return cell.answer(cell.memory["prompt"])


def refuse_form(cell: Cell) -> Json:
    cell.fill_in_all()
    cell.reply(cell.memory["question"], {"error": {"code": -32603, "message": "the screen is off"}})
    return cell.answer(cell.memory["prompt"])


def asking_for(script: str) -> Callable[[Cell], Json]:
    """A prompt whose form is filled in as soon as it comes."""

    def ask(cell: Cell) -> Json:
        cell.fill_in_all()
        return cell.answer(cell.prompt(cell.session, script))

    return ask


# -- what can be set


def choosing(option: str) -> Callable[[Cell], Json]:
    """Another value of an option, of those that are on offer."""

    def choose(cell: Cell) -> Json:
        offered = next(each for each in cell.memory["options"] if each["id"] == option)
        value = next(each["value"] for each in offered["options"] if each["value"] != offered["currentValue"])
        cell.memory["chosen"] = option, value
        return cell.ask("session/set_config_option", sessionId=cell.session, configId=option, value=value)

    return choose


def restricted(cell: Cell) -> None:
    """A session that is to move to a host of another kind with its next prompt."""
    opened(cell)
    cell.restrict(cell.session)


# -- tasks


def task_of(script: str) -> Callable[[Cell], None]:
    """A session in which work goes on beside its turn."""

    def arrange(cell: Cell) -> None:
        opened(cell)
        cell.must_end(cell.prompt(cell.session, script), "end_turn")
        cell.memory["target"] = next(
            update["_meta"]["muse/asyncTasks"]["target"]
            for update in reversed(cell.adapter.updates(cell.session))
            if "target" in (update.get("_meta") or {}).get("muse/asyncTasks", {})
        )

    return arrange


def stop_task(cell: Cell) -> Json:
    return cell.ask("_muse/task", sessionId=cell.session, target=cell.memory["target"], action="cancel")


# -- stored output


def output(cell: Cell) -> None:
    """A session with a stored output."""
    opened(cell)
    cell.must_end(cell.prompt(cell.session, "shell 300000"), "end_turn")
    cell.memory["handle"] = next(
        update["_meta"]["muse/output"]
        for update in reversed(cell.adapter.updates(cell.session))
        if "muse/output" in (update.get("_meta") or {}) and "toolCallId" in update
    )


def read(cell: Cell) -> Json:
    handle = cell.memory["handle"]
    return cell.ask("_muse/readOutput", **{name: handle[name] for name in ("sessionId", "itemId", "outputRef")})
