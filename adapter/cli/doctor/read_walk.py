"""The thirteen checks of a read (`docs/stored-output.md`), made on a real output to show where it stops and why.

The checks are those that serve: this asks as a client would and listens to how far it came. Three of them are about a
client's connection (1, 4 and 13); they are played for a client that does everything right, and say so. Nothing is
changed: the host is a read host, and only what a read needs is asked of it.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import anyio
import msgspec

from adapter import __version__
from adapter.acp.text import one_line
from adapter.bridge.hosts.host_choice import HostChoice, version_cache
from adapter.bridge.stored_output.contract import DEFAULT_LENGTH
from adapter.bridge.stored_output.host_reads import PageRead, host_to_read_from
from adapter.bridge.stored_output.negotiation import Negotiation, negotiate
from adapter.bridge.stored_output.read_host import ReadHost
from adapter.bridge.stored_output.references import OutputRef, references_of
from adapter.bridge.stored_output.request import ReadRequest, read_request
from adapter.cli.doctor.negotiation import RECORDED
from adapter.cli.doctor.read_advice import NO_VERSION, advice, output_command
from adapter.cli.doctor.recorded_reads import recorded_lengths
from adapter.cli.doctor.report import Check, Status
from adapter.cli.doctor.threads import beside
from adapter.cli.doctor.trial import OFF_SCRIPT_WORDS
from adapter.cli.output_pieces import Checksum, page_bytes
from adapter.msp.host import Host
from adapter.msp.secrets import scrub
from adapter.wire.background import Background
from adapter.wire.envelope import Params, RpcError

log = logging.getLogger("adapter.output")

START_SECONDS: Final = 30.0
"""How long the read host may take to become ready, unless `--startup-timeout` is less: somebody waits for this."""

PIECE_BYTES: Final = DEFAULT_LENGTH
"""What is read of the output."""

LOOK_SECONDS: Final = 2.0
"""How long a look at a recording or for the session's folder may take: a file system may be far away."""

MAX_SENTENCE: Final = 2000

_FIRST: Final = "the item's first"
"""In place of an output's id, which is not known before the item is found."""


class _Step(msgspec.Struct, frozen=True):
    """One check: a word for programs, and why it is made."""

    name: str
    why: str


STEPS: Final = (
    _Step("negotiated", "Only a client that asked for stored output may read it."),
    _Step("verified", "Reading is offered only on versions of Muse on which it has been verified."),
    _Step("params", "A request that is not as it must be is not sent to a host."),
    _Step("session", "A client reads only in sessions that are open on its own connection."),
    _Step("readHost", "Reads have a host of their own, which has to become ready in time."),
    _Step("liveVersion", "The program may have been replaced since its version was told."),
    _Step("stored", "The host has to have the session, in the folder in which it is open."),
    _Step("reference", "Only an output that the item's newest revision names in recent history is read."),
    _Step("available", "The host says whether it still has the bytes."),
    _Step("offset", "A read behind the end would be a mistake of the client."),
    _Step("served", "The host is asked once, and a refusal is passed on as what it means."),
    _Step("consistent", "A page that contradicts itself or the request is not handed on."),
    _Step("stillOpen", "A page of a session that was closed meanwhile is not handed on."),
)
"""Checks 1 to 13."""

_PLAYED: Final = {1, 4, 13}

_Told: TypeAlias = tuple[Status, str, dict[str, Any], str | None]
"""Status, summary, facts for programs, what to do."""


class _FirstOutput(PageRead):
    """A read of what the item has first, for a session that is open where it is stored. `lengths` are those that can be
    asked for of the outputs of a recording."""

    def __init__(self, host: Host, request: ReadRequest, lengths: Mapping[str, int]) -> None:
        super().__init__(host, request, workspace=None)
        self.outputs = 0
        self._lengths = lengths

    def _choose(self, item: Params) -> OutputRef | None:
        found = references_of(item)
        self.outputs = len(found)
        if not found:
            return None
        first = found[0]
        length = self._lengths.get(first.id, self.request.length)
        self.request = msgspec.structs.replace(self.request, ref_id=first.id, length=length)
        return first


class _Walk:
    """How far it came, and what was seen on the way."""

    def __init__(self, choice: HostChoice, session_id: str, item_id: str) -> None:
        self.choice = choice
        self.session_id = session_id
        self.item_id = item_id
        muse = choice.muse or ""
        self.recording = Path(muse.removeprefix(RECORDED)) if muse.startswith(RECORDED) else None
        """The folder of the recording that stands in for the host, which refuses whatever is not in it."""
        self.last = 0
        """The last check that has passed."""
        self.refusal: RpcError | None = None
        self.negotiation = Negotiation()
        self.start_seconds = 0.0
        self.server_version = ""
        self.read: _FirstOutput | None = None
        self.folder_is_there = False
        self.lengths: dict[str, int] = {}
        """How many bytes can be asked for of an output, where a recording has that."""

    def passed(self, check: int) -> None:
        self.last = check

    def look_for_lengths(self) -> None:
        """Touches the disk."""
        if self.recording is not None:
            self.lengths = recorded_lengths(self.recording, self.session_id, self.item_id)

    def look_for_folder(self) -> None:
        """Touches the disk."""
        stored_in = self.read.stored_in if self.read is not None else None
        self.folder_is_there = stored_in is not None and os.path.isdir(stored_in)  # noqa: PTH112 - never raises


async def walk(choice: HostChoice, session_id: str, item_id: str) -> tuple[Check, ...]:
    """`read.1` to `read.13`: those that passed, the one that did not, and those that were not reached."""
    it = _Walk(choice, session_id, item_id)
    async with anyio.create_task_group() as tasks:
        bounded = msgspec.structs.replace(choice, startup_timeout=min(choice.startup_timeout, START_SECONDS))
        read_host = ReadHost(bounded, __version__, Background(tasks, log), idle_seconds=0)
        try:
            await _read(it, bounded, read_host)
        except RpcError as error:
            it.refusal = error
        await read_host.close()
        tasks.cancel_scope.cancel()
    with anyio.move_on_after(LOOK_SECONDS):
        await beside(it.look_for_folder)
    return tuple(_check(it, number) for number in range(1, len(STEPS) + 1))


async def _read(it: _Walk, choice: HostChoice, read_host: ReadHost) -> None:
    """What a client with a connection of its own would have done for it.

    Raises:
        RpcError: as the client would have been answered.
    """
    it.negotiation = await negotiate(True, choice, version_cache(choice, learns=False))
    it.passed(1)
    refusal = it.negotiation.refusal()
    if refusal is not None:
        raise refusal
    it.passed(2)
    ids = {"sessionId": it.session_id, "itemId": it.item_id}
    request = read_request({**ids, "outputRef": _FIRST, "lengthBytes": PIECE_BYTES})
    it.passed(3)
    it.passed(4)
    with anyio.move_on_after(LOOK_SECONDS):
        await beside(it.look_for_lengths)
    began = time.monotonic()
    async with host_to_read_from(read_host, choice.startup_timeout, it.passed) as host:
        it.start_seconds = time.monotonic() - began
        it.server_version = (await host.ready()).server_version
        it.read = _FirstOutput(host, request, it.lengths)
        await it.read.run(it.passed)
    it.passed(13)


def _check(it: _Walk, number: int) -> Check:
    step = STEPS[number - 1]
    if number <= it.last:
        status, summary, facts, fix = _PASSED[number - 1](it)
    elif number == it.last + 1 and it.refusal is not None:
        status, summary, facts, fix = _refused(it, it.refusal)
    else:
        status, summary, facts, fix = "skipped", f"Not reached: the read stopped at check {it.last + 1}.", {}, None
    return Check(
        id=f"read.{number}",
        status=status,
        summary=_clean(it, summary),
        details={"why": step.why, "name": step.name, "played": number in _PLAYED, **_clean(it, facts)},
        fix=fix,
    )


def _clean(it: _Walk, value: Any) -> Any:
    """Texts, which may be a host's, without its secrets and in one line that is not too long."""
    if isinstance(value, dict):
        return {name: _clean(it, member) for name, member in value.items()}
    if not isinstance(value, str):
        return value
    # A secret that was cut in two would not be known for one.
    return one_line(scrub(one_line(value, 2 * MAX_SENTENCE), it.choice.environ), MAX_SENTENCE)


def _refused(it: _Walk, refusal: RpcError) -> _Told:
    """The check at which it stopped; `error` is what a client would have been answered."""
    data = refusal.data or {}
    reason, sentence = str(data.get("reason")), str(data.get("details", refusal.message))
    fix = advice(reason, sentence, it.choice, it.session_id)
    if reason == "outputNotAdvertised":
        sentence = it.negotiation.reason
        if it.negotiation.host_version is None:
            fix = NO_VERSION
    facts = {"error": {"code": refusal.code, "message": refusal.message, "data": data}}
    if it.recording is not None and reason == "hostError" and sentence.startswith(OFF_SCRIPT_WORDS):
        return "skipped", f"The recording has no such question: {sentence.rstrip('.')}.", facts, None
    return "fail", f"{sentence.rstrip('.')} ({reason}).", facts, fix


# -- what is told of a check that has passed


def _negotiated(_it: _Walk) -> _Told:
    return "pass", 'Played for a client that asks by clientCapabilities._meta["muse/output"] = 1.', {}, None


def _verified(it: _Walk) -> _Told:
    version = it.negotiation.host_version
    return "pass", f"{it.negotiation.reason} This host is {version}.", {"hostVersion": version}, None


def _params(_it: _Walk) -> _Told:
    facts = {"offsetBytes": 0, "lengthBytes": PIECE_BYTES}
    return "pass", f"The ids can be ids; {PIECE_BYTES:,} bytes are asked for, from the first on.", facts, None


def _session(_it: _Walk) -> _Told:
    return "pass", "Played for a session that has just been opened; a client has to open it itself.", {}, None


def _read_host(it: _Walk) -> _Told:
    seconds = it.start_seconds
    return "pass", f"A read host was ready in {seconds:.2f} s.", {"seconds": round(seconds, 3)}, None


def _live_version(it: _Walk) -> _Told:
    facts = {"serverVersion": it.server_version}
    return "pass", f"It says itself that it is {it.server_version}, which is verified.", facts, None


def _stored(it: _Walk) -> _Told:
    folder = _of(it).stored_in or ""
    facts = {"workspace": folder}
    if it.folder_is_there:
        return "pass", f"The host has the session, in {folder}. Played for one that is open there.", facts, None
    summary = f"The host has the session, in {folder}, which is no folder here: the session cannot be opened."
    return "warn", summary, facts, f"Bring the folder back, or read with `{output_command(it.choice)}`."


def _reference(it: _Walk) -> _Told:
    read = _of(it)
    scan, reference = read.scan, _reference_of(it)
    facts = {
        "outputRef": reference.id,
        "outputs": read.outputs,
        "pagesScanned": scan.pages,
        "eventsScanned": scan.events,
    }
    more = f", the first of its {read.outputs} outputs" if read.outputs > 1 else ""
    where = f"in the newest {scan.events:,} events ({scan.pages} {'page' if scan.pages == 1 else 'pages'})"
    return "pass", f"The item was found {where}; it names {reference.id}{more}.", facts, None


def _available(it: _Walk) -> _Told:
    availability = _reference_of(it).availability
    return "pass", f"The host says that it is {availability}.", {"availability": availability}, None


def _offset(it: _Walk) -> _Told:
    size = _reference_of(it).byte_len
    return "pass", f"The output has {size:,} bytes, and 0 is not beyond them.", {"byteLen": size}, None


def _served(it: _Walk) -> _Told:
    asked, size = _of(it).request.length, _page_of(it).get("byteLen")
    # What the page says of itself is looked at in the next check.
    served = size if type(size) is int else None
    facts = {"requestedBytes": asked, "servedBytes": served}
    as_recorded = ", as many as were asked for when it was recorded" if asked != PIECE_BYTES else ""
    if served is None:
        return "pass", f"The host answered{as_recorded}, without saying how many bytes it served.", facts, None
    return "pass", f"The host served {_amount(served)}{as_recorded}.", facts, None


def _consistent(it: _Walk) -> _Told:
    page, reference = _page_of(it), _reference_of(it)
    facts = {name: page[name] for name in ("encoding", "mediaType", "offsetBytes", "byteLen", "eof")}
    checksum = Checksum(reference.digest)
    facts["digest"] = "known" if checksum.known else "none" if reference.digest is None else "unknown"
    left = reference.byte_len - page["byteLen"]
    if left < 0 or (left == 0 and not page["eof"]):
        more = "" if page["eof"] else ", and more is to follow"
        summary = (
            f"The page agrees with itself: {page['encoding']}, {page['mediaType']}. But the host said that the output "
            f"has {_amount(reference.byte_len)}, and this page has {page['byteLen']:,}{more}."
        )
        return "warn", summary, facts, "Read it again once the call has ended; a client gets what there is either way."
    rest = "all of it" if page["eof"] else f"{_amount(left)} are left"
    summary = f"The page is whole: {page['encoding']}, {page['mediaType']}, {rest}"
    if not checksum.known:
        return "pass", f"{summary}; there is no digest to compare with.", facts, None
    if not page["eof"]:
        return "pass", f"{summary}; there is a digest of the whole output.", facts, None
    checksum.feed(page_bytes(page))
    if checksum.holds():
        return "pass", f"{summary}; its digest is right.", {**facts, "digest": "right"}, None
    fix = "Report it as a fault of Muse: these are not the bytes that it took the digest of."
    return "warn", f"{summary}; its digest is wrong.", {**facts, "digest": "wrong"}, fix


def _still_open(_it: _Walk) -> _Told:
    return "pass", "Played: nothing closed the session meanwhile, so a client would get the page.", {}, None


_PASSED: Final[tuple[Callable[[_Walk], _Told], ...]] = (
    _negotiated,
    _verified,
    _params,
    _session,
    _read_host,
    _live_version,
    _stored,
    _reference,
    _available,
    _offset,
    _served,
    _consistent,
    _still_open,
)


def _of(it: _Walk) -> _FirstOutput:
    assert it.read is not None, "a check that has passed has seen it"
    return it.read


def _reference_of(it: _Walk) -> OutputRef:
    reference = _of(it).reference
    assert reference is not None, "a check that has passed has seen it"
    return reference


def _page_of(it: _Walk) -> Params:
    page = _of(it).page
    assert page is not None, "a check that has passed has seen it"
    return page


def _amount(size: int) -> str:
    return f"{size:,} {'byte' if size == 1 else 'bytes'}"
