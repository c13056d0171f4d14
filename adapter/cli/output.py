"""`muse-adapter output`: stored output for people and scripts, without an editor.

It reads as `_muse/readOutput` does, through the same checks and with the same kind of host: no session is opened, no
lease taken, nothing changed. Every piece is checked on its own, so an output that goes away meanwhile is noticed.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

import anyio
import msgspec
import typer

from adapter import __version__
from adapter.bridge.hosts.host_choice import HostChoice, resolve_muse, version_cache
from adapter.bridge.stored_output import errors
from adapter.bridge.stored_output.host_reads import host_to_read_from, look_through, read_page, stored_workspace
from adapter.bridge.stored_output.negotiation import negotiate
from adapter.bridge.stored_output.read_host import ReadHost
from adapter.bridge.stored_output.references import AVAILABLE, OutputRef, references_of, unusable_references
from adapter.bridge.stored_output.request import ReadRequest
from adapter.bridge.stored_output.scan import HandleScan, HistoryScan
from adapter.cli.interrupts import cancel_on_signal
from adapter.cli.output_errors import Failed, failed
from adapter.cli.output_list import rows, show
from adapter.cli.output_pieces import Checksum, Pieces, WrongLength
from adapter.cli.output_screen import Screen
from adapter.cli.output_target import Target
from adapter.cli.stdout import Unwritable, let_go_of_stdout, require_stdout
from adapter.cli.stop_signals import EXIT_INTERRUPTED
from adapter.msp.errors import HostStartError
from adapter.wire.background import Background
from adapter.wire.envelope import RpcError

log = logging.getLogger("adapter.output")

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
EXIT_NO_HOST: Final = 3
EXIT_NOT_THERE: Final = 4
EXIT_NOT_VERIFIED: Final = 5
EXIT_NOT_WRITTEN: Final = 6

EXITS: Final = {
    "museNotFound": EXIT_NO_HOST,
    "hostStartFailed": EXIT_NO_HOST,
    "hostStartTimeout": EXIT_NO_HOST,
    "sessionNotStored": EXIT_NOT_THERE,
    "outputNotFound": EXIT_NOT_THERE,
    "outputUnavailable": EXIT_NOT_THERE,
    "outputNotAdvertised": EXIT_NOT_VERIFIED,
    "hostVersionUnverified": EXIT_NOT_VERIFIED,
    "notWritten": EXIT_NOT_WRITTEN,
}
"""The exit codes of reasons, so that a script that reads many outputs can go on, stop, or try again; `EXIT_FAILED` for
all others."""


_SOMETHING_ELSE: Final = "began with bytes of something else; read all of it again, without --resume"


class Wanted(msgspec.Struct, frozen=True):
    """What to read: without `item_id` a list; without `ref_id` the item's output, or its patch if it has no other."""

    session_id: str
    item_id: str | None = None
    ref_id: str | None = None
    file: Path | None = None
    """Where the bytes go; None is stdout."""
    offset: int = 0
    length: int | None = None
    resume: bool = False


def main(wanted: Wanted, choice: HostChoice) -> int:
    """Do it; the exit code tells how it went, a line on stderr why it did not.

    Raises:
        Unwritable: nobody reads stdout any more.
    """
    try:
        if wanted.file is None:
            require_stdout()
        return anyio.run(_run, wanted, choice)
    except BrokenPipeError as error:
        raise Unwritable(error) from None
    except Unwritable as error:
        if error.nobody_reads:
            raise
        let_go_of_stdout()
        problem = Failed("notWritten", f"stdout: {error.why}")
    except RpcError as error:
        problem = failed(error, choice.frame_cap)
    except OSError as error:
        problem = Failed("notWritten", f"{wanted.file or 'stdout'}: {error.strerror or error}")
    except Failed as error:
        problem = error
    _note(str(problem))
    return EXITS.get(problem.reason, EXIT_FAILED)


def _note(sentence: str) -> None:
    typer.echo(f"muse-adapter: {sentence}", err=True)


async def _run(wanted: Wanted, choice: HostChoice) -> int:
    problem: Exception | None = None
    async with anyio.create_task_group() as tasks:
        read_host = ReadHost(choice, __version__, Background(tasks, log), choice.read_host_idle)
        with anyio.CancelScope() as work:
            await tasks.start(cancel_on_signal, work)
            try:
                await _require_offered(choice)
                await _Reading(wanted, read_host, choice.startup_timeout).run()
            except (RpcError, Failed, OSError, Unwritable) as error:
                problem = error
        await read_host.close()
        tasks.cancel_scope.cancel()
    if problem is not None:
        raise problem
    return EXIT_INTERRUPTED if work.cancelled_caught else EXIT_OK


async def _require_offered(choice: HostChoice) -> None:
    """Check 2: reading is verified on the version of this Muse.

    Raises:
        Failed: it is not, or there is no Muse.
    """
    try:
        resolve_muse(choice)
    except HostStartError as error:
        raise Failed(error.reason, error.details) from None
    negotiation = await negotiate(True, choice, version_cache(choice))
    if not negotiation.offered:
        raise Failed("outputNotAdvertised", negotiation.reason)


def _inside_character(error: RpcError) -> bool:
    return error.data is not None and error.data.get("reason") == "offsetInsideCharacter"


def _advice(target: Target) -> str:
    """What to do about bytes that are not the right ones."""
    if target.kept:
        return f"{target.path} {_SOMETHING_ELSE}"
    return "the bytes that came are not those that the host took the digest of; read them again"


def _interrupted(target: Target, *, resumed: bool) -> str:
    """What a file has of the output, for somebody who has pressed Ctrl-C."""
    if not target.opened and not resumed:
        return f"interrupted before anything came; {target.path} was not touched"
    return f"interrupted; {target.path} has {target.size():,} bytes of it, and --resume goes on behind them"


class _Reading:
    """One run. `run` raises what `main` turns into a line: `RpcError`, `Failed`, `OSError`, `Unwritable`."""

    def __init__(self, wanted: Wanted, read_host: ReadHost, startup_timeout: float) -> None:
        self._wanted = wanted
        self._read_host = read_host
        self._startup_timeout = startup_timeout
        self._workspace = ""

    async def run(self) -> None:
        if self._wanted.item_id is None:
            await self._list()
        else:
            await self._fetch(self._wanted.item_id)

    async def _list(self) -> None:
        scan = HandleScan(self._wanted.session_id)
        with Screen().starting():
            async with host_to_read_from(self._read_host, self._startup_timeout) as host:
                await stored_workspace(host, self._wanted.session_id)
                await look_through(host, scan)
        items = scan.items()
        found, unusable = rows(items), sum(map(unusable_references, items))
        show(found)
        if unusable:
            _note(f"outputs left out, because their ids, lengths or availability cannot be right: {unusable}")
        elif not found:
            _note("the session has no stored output")
        if not scan.exhausted:
            _note(f"only the newest {scan.events} events of the session were looked through; there may be more")

    async def _fetch(self, item_id: str) -> None:
        target = Target(self._wanted.file)
        screen = Screen(quiet=target.is_terminal)
        try:
            await self._fetch_into(target, screen, item_id)
        except anyio.get_cancelled_exc_class():
            if target.is_file:
                screen.told(_interrupted(target, resumed=self._wanted.resume))
            raise

    async def _fetch_into(self, target: Target, screen: Screen, item_id: str) -> None:
        with screen.starting():
            reference = await self._reference(item_id)
        pieces, checksum = self._planned(reference, target)
        begin = self._wanted.offset
        with screen.reading(target.kept, pieces.end - begin) as show_progress:
            try:
                while not pieces.over:
                    data = await self._piece(item_id, reference.id, pieces, target)
                    checksum.feed(data)
                    # Only now: a read that is refused leaves a file as it was.
                    target.open()
                    await target.send(data)
                    show_progress(pieces.at - begin)
                target.open()
            finally:
                target.close()
        if not checksum.holds():
            raise Failed("digestMismatch", _advice(target))
        checked = ", their digest is right" if checksum.known else ""
        where = "on stdout" if target.path is None else f"in {target.path}"
        screen.told(f"{pieces.end - begin:,} bytes {where}{checked}")

    async def _reference(self, item_id: str) -> OutputRef:
        """The output to read, of the session as it is stored: checks 7 to 9."""
        scan = HistoryScan(self._wanted.session_id, item_id)
        async with host_to_read_from(self._read_host, self._startup_timeout) as host:
            self._workspace = await stored_workspace(host, self._wanted.session_id)
            await look_through(host, scan)
        ref_id = self._wanted.ref_id
        found = [one for one in references_of(scan.item or {}) if ref_id in (None, one.id)]
        if not found:
            if unusable_references(scan.item or {}):
                raise Failed("outputNotFound", "what Muse says of the output cannot be right, and it cannot be read")
            raise errors.output_not_found(scan)
        if found[0].availability != AVAILABLE:
            raise errors.output_unavailable(found[0].availability)
        return found[0]

    async def _piece(self, item_id: str, ref_id: str, pieces: Pieces, target: Target) -> bytes:
        """The next piece. All checks are made again; the folder must be the one the session had at the beginning."""
        request = ReadRequest(self._wanted.session_id, item_id, ref_id, pieces.at, pieces.length())
        async with host_to_read_from(self._read_host, self._startup_timeout) as host:
            try:
                page = await read_page(host, request, self._workspace)
            except RpcError as error:
                if target.kept and pieces.at == self._wanted.offset + target.kept and _inside_character(error):
                    raise Failed("offsetInsideCharacter", f"{target.path} {_SOMETHING_ELSE}") from None
                raise
        if page["encoding"] == "base64" and target.is_terminal:
            raise Failed("binaryOutput", "the bytes are no text; send them to a file with -o")
        try:
            return pieces.take(page)
        except WrongLength as problem:
            raise errors.inconsistent_page(str(problem)) from None

    def _planned(self, reference: OutputRef, target: Target) -> tuple[Pieces, Checksum]:
        """The pieces that are not in the target yet, and the sum over what it has."""
        wanted = self._wanted
        if wanted.offset > reference.byte_len:
            raise errors.offset_out_of_range(reference.byte_len)
        end = reference.byte_len if wanted.length is None else min(reference.byte_len, wanted.offset + wanted.length)
        if wanted.resume:
            size, whole = target.size(), end - wanted.offset
            if size > whole:
                raise Failed("fileTooLong", f"{wanted.file} has {size} bytes already, of {whole}: it is something else")
            target.keep(size, whole=size == whole)
        checksum = Checksum(reference.digest if (wanted.offset, end) == (0, reference.byte_len) else None)
        for block in target.kept_blocks():
            checksum.feed(block)
        return Pieces(wanted.offset + target.kept, end, reference.byte_len), checksum
