"""Questions to the user: opened by a script, settled by the client, a countdown or an interrupt (`msp.md §16`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from adapter.hosts.simulated import ids
from adapter.hosts.simulated.errors import refusal
from adapter.hosts.simulated.params import optional_text, rows, table, text
from adapter.hosts.simulated.steps import AskUser, Json, Settlement

if TYPE_CHECKING:
    from adapter.hosts.simulated.host import Host
    from adapter.hosts.simulated.loop import Timer
    from adapter.hosts.simulated.session import Session
    from adapter.hosts.simulated.turns import Driver
    from adapter.wire.envelope import Params

MAX_FREE_TEXT: Final = 500


class Asked:
    """A question that is open."""

    def __init__(self, step: AskUser, user_input_id: str) -> None:
        self.id = user_input_id
        self.step = step
        self.countdown: Timer | None = None

    def disarm(self) -> None:
        """Stop the countdown."""
        if self.countdown is not None:
            self.countdown.cancel()
            self.countdown = None


def ask(driver: Driver, step: AskUser) -> None:
    """Put the question to the user."""
    session, host = driver.session, driver.host
    asked = driver.question = Asked(step, ids.uuid7())
    session.parked[asked.id] = driver
    params: Json = {
        "userInputId": asked.id,
        "turnId": driver.turn.id,
        "itemId": step.item.id,
        "toolCallId": step.item.members["callId"],
        "toolName": step.item.members["tool"],
        "questions": step.questions,
    }
    if step.auto_ms is not None:
        params["autoResolutionMs"] = step.auto_ms
        asked.countdown = host.loop.call_later(step.auto_ms / 1000, lambda: _run_out(driver))
    if step.settled_after is not None:
        host.loop.call_later(step.settled_after, lambda: _settle_elsewhere(driver, asked))
    session.emit("userInput/requested", params, run=driver.turn.id)
    session.show_status()
    if host.dialogs:
        host.request_client("userInput/request", session.view.user_inputs[asked.id])


def reopen(driver: Driver, step: AskUser, user_input_id: str) -> None:
    """Wait again for the answer to a question that another host was killed with."""
    driver.question = Asked(step, user_input_id)
    driver.session.parked[user_input_id] = driver


def _run_out(driver: Driver) -> None:
    settle(driver, Settlement("timedOut", []), None)


def _settle_elsewhere(driver: Driver, asked: Asked) -> None:
    """Somebody else than the client answers."""
    if driver.question is asked:
        rows = asked.step.questions
        first = [{"questionId": row["id"], "selectedLabel": row["options"][0]["label"]} for row in rows]
        settle(driver, Settlement("answered", first), None)


def settle(driver: Driver, settlement: Settlement, command_id: str | None, reason: str | None = None) -> None:
    """Close the question and let the script go on, unless it has been stopped."""
    _resolve(driver, settlement, command_id, reason)
    if not driver.ended:
        driver.advance(settlement)


def _resolve(driver: Driver, settlement: Settlement, command_id: str | None, reason: str | None) -> None:
    asked = driver.question
    assert asked is not None
    asked.disarm()
    driver.question = None
    driver.session.parked.pop(asked.id, None)
    params = {
        "userInputId": asked.id,
        "outcome": settlement.outcome,
        "answers": settlement.answers,
        "clarification": settlement.clarification,
        "reason": reason,
        "decidedByCommandId": command_id,
        "decidedAt": ids.timestamp(),
    }
    driver.session.emit("userInput/settled", params, run=driver.turn.id)
    driver.session.show_status()


def withdraw_stored(session: Session, asked: Json) -> None:
    """Close a question whose turn died with another host."""
    nothing: Json = {"answers": [], "clarification": None, "reason": None, "decidedByCommandId": None}
    settled = {"userInputId": asked["userInputId"], "outcome": "aborted", **nothing, "decidedAt": ids.timestamp()}
    session.emit("userInput/settled", settled, run=asked["turnId"])


def withdraw(driver: Driver, command_id: str | None = None, answers: list[Json] | None = None) -> None:
    """Close the open question of a turn that is being stopped."""
    if driver.question is not None:
        _resolve(driver, Settlement("interrupted", answers or []), command_id, None)


def open_question(session: Session, params: Params) -> Driver:
    """Who asked the question that `params` names.

    Raises:
        RpcError: nobody, or it has been settled.
    """
    user_input_id = text(params, "userInputId")
    settlement = session.view.settlements.get(user_input_id)
    if settlement is not None:
        message = "the question has been settled"
        raise refusal("userInputAlreadySettled", message, userInputId=user_input_id, settlement=settlement)
    driver = session.parked.get(user_input_id)
    if driver is None or driver.question is None:
        raise refusal("userInputNotFound", "there is no such question", userInputId=user_input_id)
    return driver


def answer(host: Host, session: Session, params: Params) -> Json:
    """`userInput/answer`."""
    driver = open_question(session, params)
    answers = _checked(driver, rows(params, "answers"), whole=True)
    return _settling(host, driver, Settlement("answered", answers), params)


def cancel(host: Host, session: Session, params: Params) -> Json:
    """`userInput/cancel`."""
    driver = open_question(session, params)
    return _settling(host, driver, Settlement("cancelled", []), params, optional_text(params, "reason"))


def clarify(host: Host, session: Session, params: Params) -> Json:
    """`userInput/clarify`."""
    driver = open_question(session, params)
    clarification = table(params, "clarification")
    content = clarification.get("content")
    if clarification.get("format") != "text" or type(content) is not str or not 0 < len(content) <= MAX_FREE_TEXT:
        raise _bad(driver, f"a clarification is 1 to {MAX_FREE_TEXT} characters of format text")
    settlement = Settlement("clarified", [], {"content": content, "format": "text"})
    return _settling(host, driver, settlement, params)


def interrupt(host: Host, session: Session, params: Params) -> Json:
    """`userInput/interrupt`: confirmed partial answers, then the turn stops."""
    driver = open_question(session, params)
    answers = _checked(driver, rows(params, "answers") if "answers" in params else [], whole=False)
    command_id = params["commandId"]

    def stop() -> None:
        withdraw(driver, command_id, answers)
        driver.stop()

    host.after_answer(stop)
    return _ack(params)


def engaged(session: Session, params: Params) -> None:
    """`userInput/engaged`: the user is at it, so the countdown stops."""
    driver = session.parked.get(str(params.get("userInputId")))
    if driver is not None and driver.question is not None:
        driver.question.disarm()


def _settling(host: Host, driver: Driver, settlement: Settlement, params: Params, reason: str | None = None) -> Json:
    command_id = params["commandId"]
    host.after_answer(lambda: settle(driver, settlement, command_id, reason))
    return _ack(params)


def _ack(params: Params) -> Json:
    return {"commandId": params["commandId"], "status": "accepted", "userInputId": params["userInputId"]}


def _checked(driver: Driver, answers: list[Json], whole: bool) -> list[Json]:
    assert driver.question is not None
    questions = {row["id"]: row for row in driver.question.step.questions}
    given = [row.get("questionId") for row in answers]
    if len(set(given)) != len(given) or not set(given) <= set(questions) or (whole and set(given) != set(questions)):
        raise _bad(driver, "there must be one answer to each question")
    for row in answers:
        problem = _problem(questions[row["questionId"]], row)
        if problem is not None:
            raise _bad(driver, f"{row['questionId']}: {problem}")
    return answers


def _problem(question: Json, row: Json) -> str | None:
    given = [key for key in ("selectedLabel", "selectedLabels", "freeText") if row.get(key) is not None]
    if len(given) != 1:
        return "exactly one of selectedLabel, selectedLabels and freeText is required"
    value: Any = row[given[0]]
    labels = {option["label"] for option in question["options"]}
    selection = question["selection"]
    if given[0] == "freeText":
        return None if type(value) is str and len(value) <= MAX_FREE_TEXT else "freeText is too long"
    if given[0] == "selectedLabel":
        return None if selection["mode"] == "single" and value in labels else "not one of the options"
    if selection["mode"] != "multiple" or type(value) is not list or not set(value) <= labels:
        return "not among the options"
    low, high = selection.get("minSelections", 0), selection.get("maxSelections", len(labels))
    return None if low <= len(value) <= high else f"{low} to {high} options are to be chosen"


def _bad(driver: Driver, problem: str) -> Exception:
    assert driver.question is not None
    return refusal("userInputAnswerInvalid", problem, userInputId=driver.question.id)
