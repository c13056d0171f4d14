"""One cell of the matrix: an adapter whose host, client or machine does one thing wrong at one moment of a session, and
the checks that hold whatever that was."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.adapter_process import EXIT_SECONDS, AdapterProcess, Json, permission, running_adapter
from tests.faults.matrix import tampering_host
from tests.faults.matrix.left import CANARY, Left, environment, sessions_in, tag
from tests.faults.matrix.tampering_host import Plan
from tests.faults.matrix.watched import watched
from tests.hurried import hurried, with_more
from tests.oracles.seen import Seen, read_seen, wrong_answers, wrong_consents
from tests.processes import open_descriptors, proc, wait_until

ANSWER_SECONDS: Final = 15.0
"""Within this every request is answered, whatever was wrong: more than all waits of the adapter in a row, as they are
set below, on a machine that does much else."""

MSP_CAP: Final = 256 * 1024
"""The longest line of a host here (`--msp-frame-cap`)."""

ACP_CAP: Final = 1024 * 1024
"""The longest line of a client."""

START_SECONDS: Final = 5.0

EFFECT_SECONDS: Final = 5.0
"""Until a fault has taken place whose moment has come."""

HELD_SECONDS: Final = 5.0
"""How long a session is waited for that another host has not let go of."""

CANCEL_SECONDS: Final = 1.5
"""How long the end of a turn is waited for that was stopped."""

HURRY: Final = hurried(
    msp__budgets__QUERY_TIMEOUT=2.0,
    msp__budgets__COMMAND_TIMEOUT=2.0,
    msp__budgets__OPEN_TIMEOUT=2.0,
    msp__session__PAGE_SECONDS=2.0,
    msp__session__LEAVE_SECONDS=1.5,
    msp__session__UNSUBSCRIBE_SECONDS=1.0,
    msp__budgets__CLOSE_GRACE=1.0,
    msp__process__TERM_GRACE=1.0,
    wire__options__ENDLESS_LINE_BYTES=2 * MSP_CAP,
    msp__abilities__ANSWER_SECONDS=5.0,
    bridge__agent__ABILITIES_WAIT=5.0,
    bridge__hosts__reloading__BUSY_SECONDS=HELD_SECONDS,
    bridge__turns__prompts__CANCEL_GRACE=CANCEL_SECONDS,
    bridge__stored_output__contract__READ_SECONDS=6.0,
    bridge__stored_sessions__deletion__DELETE_SECONDS=2.0,
    bridge__slash_commands__builtin_commands__COMPACTION_SECONDS=3.0,
)
"""The adapter, with waits that a test can wait for."""

OK: Final = "ok"

HELLO: Final = f"hello\n{CANARY}"
HELLO_ANSWER: Final = "You said: hello — noted ✓"
"""The answer repeats the first line."""


class Wrong(AssertionError):
    """What is not as it should be."""


class Cell:
    """What a phase and a fault work with. `session` is the one in which the fault strikes, if there is one yet."""

    def __init__(self, adapter: AdapterProcess, folder: Path, workspace: Path, left: Left) -> None:
        self.adapter = adapter
        self.left = left
        self.folder = folder
        self.workspace = workspace
        self.session = ""
        self.exit_codes = {0}
        """What the adapter may end with."""
        self.client_is_gone = False
        """Whether the client reads nothing any more."""
        self.more = False
        """Whether the fault makes more be said than the phase does."""
        self.refused = False
        """Whether the host refuses what it is told in the phase."""
        self.busy_until: str | None = None
        """What the client has asked beside, so that the session can only be used when that is answered."""
        self.hosts_gone: set[str] = set()
        """The hosts that have gone before they could be answered, or hear nothing."""
        self._asked = 0
        self._again = 0
        self._frames = 0
        self.memory: dict[str, Any] = {}
        """What a phase keeps between its steps."""

    def begin(self, method: str, params: Mapping[str, Any]) -> int:
        """Send a request."""
        return self.adapter.begin(method, dict(params))

    def answer(self, request_id: int) -> Json:
        """The answer to a request, which has to come."""
        return self.adapter.response(request_id, ANSWER_SECONDS)

    def ask(self, method: str, **params: Any) -> Json:
        """A request and its answer."""
        return self.answer(self.begin(method, params))

    def must(self, method: str, **params: Any) -> Json:
        """The result of a request of which nothing is tested here."""
        answer = self.ask(method, **params)
        if "result" not in answer:
            raise Wrong(f"{method}, before or beside the fault: {answer['error']}")
        result: Json = answer["result"]
        return result

    def new_session(self) -> str:
        """A session with a past of one turn."""
        result = self.must("session/new", cwd=str(self.workspace), mcpServers=[])
        session: str = result["sessionId"]
        self.memory["options"] = result["configOptions"]
        self.must_end(self.prompt(session, HELLO), "end_turn")
        self.must_have_said(session)
        return session

    def restrict(self, session: str) -> None:
        """Let a session run without Muse's own tools for writing and running, when it is known that it can."""
        answer: Json = {}

        def is_set() -> bool:
            answer.update(self.ask("session/set_mode", sessionId=session, modeId="readOnly"))
            return "result" in answer

        wait_until(is_set, ANSWER_SECONDS, lambda: f"the mode cannot be set: {answer}")

    def prompt(self, session: str, text: str) -> int:
        """Send a prompt."""
        return self.begin("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})

    def must_end(self, prompt: int, reason: str) -> None:
        """A prompt that has to end with a stop reason."""
        answer = self.answer(prompt)
        if answer.get("result", {}).get("stopReason") != reason:
            raise Wrong(f"a prompt beside the fault has to end with {reason}: {answer.get('error', answer)}")

    # -- what it is shown

    def look(self) -> None:
        """What is shown from now on is what is judged."""
        self._frames = len(self.adapter.frames)

    @property
    def named(self) -> str:
        """The session, also if it has been closed meanwhile."""
        return self.session or str(self.memory.get("closed", ""))

    def said(self, variant: str = "agent_message_chunk", session: str = "") -> str:
        """The text of the session since then."""
        chunks = [
            frame["params"]["update"]["content"]["text"]
            for frame in self.adapter.frames[self._frames :]
            if frame.get("method") == "session/update"
            and frame["params"]["sessionId"] == (session or self.named)
            and frame["params"]["update"]["sessionUpdate"] == variant
        ]
        return "".join(chunks)

    def asked_again(self, session: str) -> Json:
        """The answer to a prompt that is put when the fault is over, in words that no prompt had before; all that it
        should say has to have been said. Where a question is open in words it may be taken for
        the answer."""
        self._again += 1
        asks = self._asks_in_words(session)
        self.look()
        answer = self.answer(self.prompt(session, f"the {self._again}. time\n{CANARY}"))
        if answer.get("result", {}).get("stopReason") == "end_turn":
            what = f"You said: the {self._again}. time"
            # The question may have been settled by then.
            is_taken = asks and f"The question was clarified ✓ {what}" in self.said(session=session)
            says = f"The question was clarified ✓ {what}\n{CANARY}" if is_taken else f"{what} — noted ✓"
            self.must_have_said(session, says)
        return answer

    def _asks_in_words(self, session: str) -> bool:
        """Whether the last that was said is a question for the next message."""
        said = [
            frame["params"]["update"]["content"]["text"]
            for frame in self.adapter.frames
            if frame.get("method") == "session/update"
            and frame["params"]["sessionId"] == session
            and frame["params"]["update"]["sessionUpdate"] == "agent_message_chunk"
        ]
        return bool(said) and "Your next message is the answer" in said[-1]

    def must_have_said(self, session: str, text: str = HELLO_ANSWER) -> None:
        """All that was said in a session since then. Where a turn had no good end, the rest of it may come before."""
        said = self.said(session=session)
        if said != text and not (self.more and said.endswith(text) and said.count(text) == 1):
            raise Wrong(f"beside the fault it has to say {text!r} and says {said!r}")

    def next_request(self, method: str) -> Json:
        """A request of the adapter."""
        return self.adapter.wait_for(lambda frame: frame.get("method") == method, ANSWER_SECONDS)

    def reply(self, request: Json, answer: Json) -> None:
        self.adapter.send({"jsonrpc": "2.0", "id": request["id"], **answer})

    def allow(self, request: Json) -> None:
        """Select the option that allows once."""
        self.reply(request, permission(_once(request)))

    def consent_to_all(self) -> None:
        """Allow once whatever is asked from now on."""
        self.adapter.answer = lambda request: (
            permission(_once(request)) if request["method"] == "session/request_permission" else None
        )

    def fill_in_all(self) -> None:
        """Fill in every form from now on."""
        self.adapter.answer = lambda request: filled_in(request) if request["method"] == "elicitation/create" else None

    def wait_for_host(self, wanted: Callable[[Json], bool]) -> None:
        """A host has said this."""
        wait_until(
            lambda: any(not each.from_adapter and wanted(each.frame) for each in read_seen(*self.seen())),
            ANSWER_SECONDS,
        )

    def seen(self) -> list[Path]:
        """The frames of each host."""
        return list((self.folder / tampering_host.SEEN).glob("*.ndjson"))

    def mark(self) -> None:
        """What is asked from now on is what is judged."""
        self._asked = self.adapter.asked

    @property
    def open_request(self) -> int:
        """The id of the request whose answer is judged: the one asked since `mark`, else the prompt that was open."""
        prompt: int = self.adapter.asked if self.adapter.asked > self._asked else self.memory["prompt"]
        return prompt

    # -- the fault

    def arm(self) -> None:
        tampering_host.arm(self.folder)

    def wait_for_strike(self, seconds: float = ANSWER_SECONDS) -> None:
        """The moment of the fault has come."""
        wait_until(lambda: tampering_host.has_struck(self.folder), seconds, lambda: "the fault did not strike")

    def wait_for_effect(self) -> None:
        """And it took place."""
        wait_until(
            lambda: tampering_host.has_happened(self.folder),
            EFFECT_SECONDS,
            lambda: "the moment of the fault came, and it did not take place",
        )

    def release(self) -> None:
        """Let the host go on that waits for the driver."""
        tampering_host.release(self.folder)

    # -- what it holds

    def held(self) -> int:
        """The descriptors of the adapter without those for its hosts, once no process of a moment is there."""
        pid = self.adapter.process.pid
        wait_until(lambda: not self._passing(), ANSWER_SECONDS)
        return open_descriptors(pid) - FDS_A_HOST * len(self.adapter.hosts())

    def check_tasks(self, *, heard_out: bool) -> None:
        """None runs for which there is no reason any more."""
        self.left.check_tasks(len(self.adapter.hosts()), sessions_in(self.adapter.frames), heard_out=heard_out)

    def _passing(self) -> list[int]:
        """Children that run `muse` for a moment, to ask for its version or its flags."""
        hosts = set(self.adapter.hosts())
        muse = str(self.folder / "muse").encode()
        return [pid for pid in self.adapter.children() if pid not in hosts and muse in _command_line(pid)]


def _command_line(pid: int) -> list[bytes]:
    try:
        return (proc() / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def _once(request: Json) -> str:
    option: str = next(each["optionId"] for each in request["params"]["options"] if each["kind"] == "allow_once")
    return option


FDS_A_HOST: Final = 4
"""Its three pipes, and what its end is waited for by."""


@contextmanager
def running(plan: Plan, prepare: Callable[[Path], None] | None = None, *, greets_early: bool = False) -> Iterator[Cell]:
    """An adapter with a tampering host; in the end everything of it is gone and has been looked at. `prepare` is done
    to its home before. `greets_early`: the client is answered while its host waits for the driver."""
    with tempfile.TemporaryDirectory(prefix="matrix-", ignore_cleanup_errors=True) as name:
        home = Path(name)
        folder, workspace, temporary = home / "run", home / "work", home / "tmp"
        for each in (folder, workspace, temporary):
            each.mkdir()
        if prepare is not None:
            prepare(home)
        muse = tampering_host.place(folder, plan)
        seen: list[Seen] = []
        caps = ("--msp-frame-cap", str(MSP_CAP), "--acp-frame-cap", str(ACP_CAP))
        words = (*caps, "--startup-timeout", str(START_SECONDS))
        mark, tasks = tag(), folder / "tasks"
        hurry = with_more(HURRY, bridge__agent__ABILITIES_WAIT=0.5) if greets_early else HURRY
        environ = {"TMPDIR": str(temporary), **environment(mark)}
        with running_adapter(home, *words, muse=muse, env=environ, command=watched(hurry, tasks)) as adapter:
            adapter.watch = lambda from_adapter, frame: seen.append(_seen_by_client(from_adapter, frame))
            cell = Cell(adapter, folder, workspace, Left(adapter, mark, home, tasks))
            try:
                yield cell
                _end(cell)
            except Wrong as wrong:
                # Whatever else is wrong: consent that was not given is told.
                frames = [*seen, *read_seen(*cell.seen())]
                raise Wrong("; ".join([str(wrong), *wrong_consents(frames)])) from wrong
            finally:
                adapter.kill()
                cell.left.end()
        _look_back(cell, seen)


def _seen_by_client(from_adapter: bool, frame: Json) -> Seen:
    return Seen(time.monotonic_ns(), "client", "client", from_adapter, frame)


def _end(cell: Cell) -> None:
    """The client goes, and everything ends in order."""
    if not cell.client_is_gone and cell.adapter.process.poll() is None:
        cell.left.look()
        cell.adapter.close_input()
    cell.adapter.process.wait(EXIT_SECONDS)
    cell.left.check_processes()
    code = cell.adapter.wait_exit() if cell.client_is_gone else cell.adapter.finish()
    if code not in cell.exit_codes:
        raise Wrong(f"the adapter ended with {code} and not with {' or '.join(map(str, cell.exit_codes))}")
    if not tampering_host.has_struck(cell.folder):
        raise Wrong("the fault did not strike")


def _look_back(cell: Cell, seen: list[Seen]) -> None:
    """What the frames, the log and the disk show."""
    frames = [*seen, *read_seen(*cell.seen())]
    ended = {*cell.hosts_gone, *(["client"] if cell.client_is_gone else [])}
    problems = [*wrong_answers(frames, ended=ended), *wrong_consents(frames)]
    if problems:
        raise Wrong("; ".join(problems))
    if b"Traceback" in cell.adapter.stderr:
        raise Wrong(f"a traceback: {cell.adapter.stderr.decode(errors='replace')[-3000:]}")
    if cell.left.files():
        raise Wrong(f"files are left: {cell.left.files()}")
    if cell.left.secrets():
        raise Wrong(f"a secret stands in {cell.left.secrets()}")


# -- what has to come


def outcome(answer: Json, is_right: Callable[[Json], bool]) -> str:
    """An answer as a word: `ok`, or code and reason."""
    if "result" in answer:
        return OK if is_right(answer["result"]) else f"result {str(answer['result'])[:300]}"
    error = answer["error"]
    return f"{error['code']} {error.get('data', {}).get('reason')}"


def filled_in(request: Json) -> Json:
    """A form with the first choice everywhere."""
    schema = request["params"]["requestedSchema"]
    content: dict[str, Any] = {}
    for name in schema.get("required", schema["properties"]):
        content[name] = _first_choice(schema["properties"][name])
    return {"result": {"action": "accept", "content": content}}


def _first_choice(prop: Json) -> Any:
    if prop.get("type") == "array":
        return [_first_choice(prop["items"])]
    for name in ("oneOf", "anyOf"):
        if name in prop:
            return prop[name][0]["const"]
    return prop["enum"][0] if "enum" in prop else "words"
