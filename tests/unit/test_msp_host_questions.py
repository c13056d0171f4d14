"""Questions in sessions nobody listens to reach whoever asked to be told, so that none is lost."""

from __future__ import annotations

import pytest

from adapter.msp.host import Host
from adapter.msp.host_command import HostCommand
from tests.scripted_hosts import Json

pytestmark = pytest.mark.anyio

ASKED: Json = {"sessionId": "kid", "approvalId": "a"}


def told(host: Host) -> list[tuple[str, str]]:
    """Session and method of the questions that nobody listened to, from now on."""
    questions: list[tuple[str, str]] = []
    host.on_question = lambda session_id, method, params: questions.append((session_id, method))
    return questions


@pytest.fixture
def host() -> Host:
    """A host that is never started: only its routing counts."""
    return Host(HostCommand(["nowhere"], {}), "1.2")


@pytest.mark.parametrize(
    "method", ["approval/request", "approval/requested", "userInput/request", "userInput/requested"]
)
def test_i2_a_question_nobody_listens_to_is_told(host: Host, method: str) -> None:
    questions = told(host)
    host.on_notification(method, ASKED)
    assert questions == [("kid", method)]


@pytest.mark.parametrize("method", ["approval/updated", "approval/resolved", "item/completed", "turn/started"])
def test_what_is_no_question_is_not(host: Host, method: str) -> None:
    questions = told(host)
    host.on_notification(method, ASKED)
    host.on_notification("approval/request", {"sessionId": ["kid"]})
    host.on_notification("approval/request", {})
    assert questions == []


def test_a_question_goes_to_the_listener_if_there_is_one(host: Host) -> None:
    questions, heard = told(host), []
    host.listen("kid", lambda method, params: heard.append(method))
    host.on_notification("approval/request", ASKED)
    assert (questions, heard) == ([], ["approval/request"])
    host.unlisten("kid")
    host.on_notification("approval/request", ASKED)
    assert len(questions) == 1


async def test_m4_while_a_session_is_opened_its_questions_wait_for_it(host: Host) -> None:
    questions, heard = told(host), []
    async with host.opening():
        host.on_notification("approval/request", ASKED)
        host.on_notification("approval/request", ASKED | {"sessionId": "another"})
        assert questions == []
        host.listen("kid", lambda method, params: heard.append(params["sessionId"]))
    assert heard == ["kid"]
    assert questions == [("another", "approval/request")]


def test_without_anybody_to_tell_nothing_happens(host: Host) -> None:
    host.on_notification("approval/request", ASKED)
