"""How fast a peer hands on a streamed answer, in front of a stand-in of its host.

pi-acp is told what to start. zcode-acp starts the `node` it finds on its path, which is the stand-in here. No stand-in
is written for the others: claude-agent-acp has an SDK between itself and its CLI, and codex-acp has its agent within
itself, which asks a model.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.benchmarks.peers import stand_ins
from tests.benchmarks.peers.install import PeerAdapter
from tests.benchmarks.peers.running import NotMeasured, PeerClient, running

STREAM_SECONDS: Final = 120.0
REPOSITORY: Final = Path(__file__).resolve().parents[3]

_PIECE: Final = b" of the answer "
_ANSWERED: Final = b'"stopReason"'


def stream(peer: PeerAdapter, deltas: int, seconds: float = STREAM_SECONDS) -> float:
    """Seconds from the first piece of a streamed answer at the client to the answer of the prompt.

    About half a second of that is zcode-acp's own: it waits and asks for the usage after the last piece.

    Raises:
        NotMeasured: there is no stand-in for its host, or it did not hand on the whole answer in time.
    """
    if peer.name not in stand_ins.STAND_INS:
        raise NotMeasured("there is no stand-in for its agent")
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        environ = _host(peer, home, deltas)
        with running(peer, home, seconds, **environ) as client:
            client.initialize()
            client.begin_prompt(client.new_session(home), "go")
            took, answer = _until_answered(client)
    pieces = answer.count(_PIECE)
    if pieces != deltas:
        raise NotMeasured(f"{pieces} pieces of {deltas} came")
    return took


def _host(peer: PeerAdapter, home: Path, deltas: int) -> dict[str, str]:
    """Write the stand-in, and give what makes the peer start it."""
    programs = home / "bin"
    programs.mkdir()
    host = programs / ("pi" if peer.name == "pi-acp" else "node")
    host.write_text(stand_ins.script(REPOSITORY, peer.name, deltas))
    host.chmod(0o755)
    if peer.name == "pi-acp":
        return {"PI_ACP_PI_COMMAND": str(host)}
    return {"PATH": f"{programs}{os.pathsep}{peer.environ['PATH']}", "ZCODE_CJS": str(home / "zcode.cjs")}


def _until_answered(client: PeerClient) -> tuple[float, bytes]:
    """Seconds, and all that came since the first piece did."""
    fd = client.stdout.fileno()
    tail = b""
    while _PIECE not in tail:
        tail = tail[-len(_PIECE) :] + _read(client, fd)
    began = time.perf_counter()
    read = [tail]
    while _ANSWERED not in tail:
        read.append(_read(client, fd))
        tail = tail[-len(_ANSWERED) :] + read[-1]
    return time.perf_counter() - began, b"".join(read)


def _read(client: PeerClient, fd: int) -> bytes:
    data = os.read(fd, 1 << 20)
    if not data:
        raise client.ended()
    return data
