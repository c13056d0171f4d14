"""One running host as the rest of the adapter sees it: ready or not, questions and commands, events by session, gone
or not."""

from __future__ import annotations

import logging

import anyio

from adapter.msp import budgets
from adapter.msp.abilities import Abilities, Inquiry
from adapter.msp.asking import Asking
from adapter.msp.errors import HostClosed, HostGone, HostStartError, MspError, exit_class
from adapter.msp.handshake import SESSION_CAPABILITIES, Handshake, initialize_params
from adapter.msp.host_command import HostCommand
from adapter.msp.launch import Launched
from adapter.msp.losses import Losses
from adapter.msp.overheard import Overheard
from adapter.msp.process import HostProcess
from adapter.wire.envelope import Params, RpcError
from adapter.wire.framing import MSP_FRAME_CAP
from adapter.wire.peer import BadAnswer, Peer, PeerClosed, PeerOptions
from adapter.wire.room import Room

log = logging.getLogger("adapter.msp")

EXIT_STATUS_GRACE = 0.25
"""Seconds between the end of a host's output and its exit status: known then, it names the cause."""

TRAILING_GRACE = 0.25
"""Seconds the last bytes of stdout and stderr may take to arrive after the process is reaped."""

UNREADY_GRACE = 0.5
"""Seconds a host has after stdin closed if it never became ready: it has nothing to record."""

STDERR_IN_ERRORS = 500
"""Characters of a dead host's stderr that go into an error a user sees."""


class Host(Asking):
    """A `muse serve`. `run` it in a task of its own; everything else may be called from any task meanwhile.

    With `probes` it is asked what it can do as soon as it is ready, in front of everything else; not if that is known
    (`abilities`), since what is asked may take a host with many sessions a while.
    """

    def __init__(
        self,
        launch: HostCommand,
        client_version: str,
        *,
        capabilities: Params = SESSION_CAPABILITIES,
        startup_timeout: float = budgets.STARTUP_TIMEOUT,
        close_grace: float = budgets.CLOSE_GRACE,
        throttle: Room | None = None,
        frame_cap: int = MSP_FRAME_CAP,
        probes: bool = False,
        abilities: Abilities | None = None,
    ) -> None:
        super().__init__(launch)
        self.handshake: Handshake | None = None
        self.exit_code: int | None = None
        """What the process ended with, negative for a signal; None until it is reaped."""
        self.last_words = ""
        """The end of what it wrote to stderr, without secrets; empty until it has ended."""
        self.wedged: dict[str, set[str]] = {}
        """By session, the names of turns that were stopped and did not end: they may hold up what comes next."""
        self._initialize = initialize_params(client_version, capabilities)
        self._startup_timeout = startup_timeout
        self._close_grace = close_grace
        self._throttle = throttle
        self._frame_cap = frame_cap
        self._known = abilities
        self._inquiry = Inquiry() if probes and abilities is None else None
        self._losses = Losses(self.lose)
        self._connected = anyio.Event()
        self._settled = anyio.Event()
        self._stderr_read = anyio.Event()
        self._output_read = anyio.Event()
        self._ended = anyio.Event()
        self._closing = False

    # -- life

    async def run(self, launched: Launched | None = None) -> None:
        """Start the process, serve until it or we end it, and leave nothing of it behind. `launched` is the process, if
        it has been started already."""
        try:
            process = HostProcess(launched) if launched is not None else HostProcess.spawn(self.launch)
        except Exception as error:
            # Whatever it is, nobody may wait for this host.
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            cause = f"{self.launch.argv[0]} cannot be started: {reason}"
            self._declare_gone(HostStartError("hostStartFailed", cause))
            self._ended.set()
            return
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._drain_stderr, process)
                tasks.start_soon(self._serve, process)
                tasks.start_soon(self._watch_exit, process)
                tasks.start_soon(self._shake_hands)
                tasks.start_soon(self._look_whether_it_hangs)
                tasks.start_soon(self._losses.run)
                await self._over.wait()
                if self._closing:
                    self._declare_gone(HostClosed("the Muse host was stopped"))
                else:
                    with anyio.move_on_after(EXIT_STATUS_GRACE):
                        await process.wait()
                    with anyio.move_on_after(TRAILING_GRACE):
                        await self._stderr_read.wait()
                    self._declare_gone(self._death(process))
                await process.end(self._close_grace if self.handshake else UNREADY_GRACE)
                with anyio.move_on_after(TRAILING_GRACE):
                    await self._output_read.wait()
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await process.end(0)
            process.close_pipes()
            self.exit_code, self.last_words = process.exit_code, self.scrub(process.stderr_text())
            self._declare_gone(HostClosed("the Muse host was stopped"))
            self._ended.set()

    async def close(self) -> None:
        """End the host and wait until it is gone. Safe to call again, and together."""
        self._closing = True
        peer = self._peer
        if peer is not None:
            with anyio.move_on_after(self._close_grace):
                await peer.flushed()
        self._over.set()
        await self._ended.wait()

    async def ready(self) -> Handshake:
        """The handshake, as soon as there is one.

        Raises:
            HostGone: the host did not become ready, or is gone already; `HostStartError` tells why.
        """
        await self._settled.wait()
        if self.gone is not None:
            raise self.gone
        assert self.handshake is not None
        return self.handshake

    async def abilities(self) -> Abilities:
        """What it can do, as far as it has said so or is known; nothing, if it is not asked. Waits for the answers a
        little.

        Raises:
            HostGone: as for `ready`.
        """
        await self.ready()
        if self._known is not None:
            return self._known
        return await self._inquiry.abilities() if self._inquiry is not None else Abilities()

    @property
    def has_told_abilities(self) -> bool:
        """Whether everything that was asked about them has been answered."""
        return self._inquiry is not None and self._inquiry.is_complete

    @property
    def unanswered(self) -> frozenset[str]:
        """What it was asked about its abilities and has not answered, by method."""
        return self._inquiry.unanswered if self._inquiry is not None else frozenset()

    @property
    def is_closing(self) -> bool:
        """Whether it ends, or has ended, because we want it to."""
        return self._closing

    async def wait_if_ending(self) -> None:
        """Return at once from a host that lives; from one whose end has been noticed, when it is known why."""
        if self._over.is_set():
            await self._gone_event.wait()

    async def wait_gone(self) -> None:
        """Wait until the host can no longer be used."""
        await self._gone_event.wait()

    async def _drain_stderr(self, process: HostProcess) -> None:
        await process.drain_stderr()
        self._stderr_read.set()

    async def _serve(self, process: HostProcess) -> None:
        options = PeerOptions(
            name="host",
            inbound_cap=self._frame_cap,
            outbound_cap=self._frame_cap,
            logger=log,
            answers_garbage=False,
            on_unreadable=self._losses.note,
            join=self._join,
            drain_seconds=0,
        )
        self._overheard = Overheard(process.stdout)
        peer = Peer(self._overheard, process.stdin, self, options)
        if self._throttle is not None:
            peer.throttle = self._before_reading_on(peer, process, self._throttle)
        self._peer = peer
        self._connected.set()
        await peer.run()
        self._output_read.set()
        self._over.set()

    def _before_reading_on(self, peer: Peer, process: HostProcess, client_reads: Room) -> Room:
        # One command may be as long as a frame. A host that first has to say something takes it in afterwards only, and
        # is listened to; one that asks and asks and takes in no answer is not.
        answers = process.stdout.unless_over(peer.room_for_answers(self._frame_cap))
        client = process.stdout.unless_over(client_reads)

        async def wait() -> None:
            await answers.wait()
            await self._patience.without_listening(client.wait)

        return Room(lambda: answers.is_there() and client.is_there(), wait)

    async def _watch_exit(self, process: HostProcess) -> None:
        """A dead host may leave its pipes open in a grandchild: its death counts, not the end of its output."""
        await process.wait()
        with anyio.move_on_after(TRAILING_GRACE):
            await self._output_read.wait()
        self._over.set()

    async def _shake_hands(self) -> None:
        await self._connected.wait()
        assert self._peer is not None
        try:
            with self._patience.fail_after(self._startup_timeout):
                result = await self._peer.request("initialize", self._initialize)
        except TimeoutError:
            details = f"{self.launch.display()} did not answer the handshake within {self._startup_timeout:g} s"
            self._declare_gone(HostStartError("hostStartTimeout", details))
        except (RpcError, BadAnswer) as error:
            kind, did = None, "answered the handshake with what cannot be read"
            if isinstance(error, RpcError):
                did = "refused the handshake"
                kind = MspError.from_error({"code": error.code, "data": error.data}).kind
            words = error.message if isinstance(error, RpcError) else str(error)
            failed = HostStartError(
                "hostStartFailed", f"{self.launch.display()} {did}", kind=kind, words=f": {self.scrub(words)}"
            )
            self._declare_gone(failed)
        except PeerClosed:
            return  # `run` knows why and says so.
        else:
            if self._overheard is not None:
                self._overheard.stop()
            self.notify("initialized")
            if self._inquiry is not None:
                self._inquiry.ask(self._peer)
            self.handshake = Handshake.read(result).scrubbed(self.scrub)
            self._settled.set()
            if self._inquiry is not None:
                await self._inquiry.hear_out()
            return
        self._over.set()

    def _death(self, process: HostProcess) -> HostGone:
        """What to tell those who waited for the host when it ended by itself."""
        code = process.exit_code
        sentence, words = exit_class(code).sentence, ""
        stderr = self.scrub(process.stderr_text())
        if stderr:
            words += f"; its last words: {stderr[-STDERR_IN_ERRORS:]}"
        said = self.scrub(self._overheard.words()) if self._overheard is not None else ""
        if said:
            words += f"; on stdout it said: {said[-STDERR_IN_ERRORS:]}"
        if self.handshake is None:
            return HostStartError(
                "hostStartFailed", f"{self.launch.display()} did not start: {sentence}", code, words=words
            )
        return HostClosed(sentence, words)

    def _declare_gone(self, why: HostGone) -> None:
        super()._declare_gone(why)
        self._settled.set()
