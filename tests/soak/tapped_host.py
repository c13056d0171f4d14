"""The simulated host as an executable that keeps what it exchanged: every frame with an id, and what is told of
approvals (`tests.oracles.seen`)."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson

from adapter.hosts.simulated import __main__ as simulated
from adapter.hosts.simulated import host, output
from adapter.wire.framing import Line, Oversize
from tests.oracles.seen import Seen

Json = dict[str, Any]

ROOT: Final = Path(__file__).resolve().parents[2]
LONG: Final = 2048
"""Bytes from which an answer is kept only as far as it tells of approvals."""


def place(directory: Path, version: str, log: Path) -> Path:
    """Write an executable that is such a host of this version; its runs keep their frames in `log`."""
    log.mkdir(parents=True, exist_ok=True)
    script = directory / "muse"
    script.write_text(
        f"#!{sys.executable}\n"
        f"import sys\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        f"from tests.soak.tapped_host import run\n"
        f"run({str(log)!r}, {version!r})\n"
    )
    script.chmod(0o755)
    return script


def run(log: str, version: str) -> None:
    """Be the host."""
    if "serve" in sys.argv and "--help" not in sys.argv:
        tap(Path(log) / f"{os.getpid()}.ndjson")
    sys.exit(simulated.main(["--profile", version, *sys.argv[1:]]))


def tap(path: Path) -> None:
    """Keep what this process reads and writes."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def keep(frame: Any, *, from_adapter: bool) -> None:
        if isinstance(frame, dict) and ("id" in frame or "approval" in str(frame.get("method"))):
            seen = Seen(time.monotonic_ns(), "host", path.stem, from_adapter, _slim(frame))
            os.write(fd, seen.line())

    class TappedOutput(output.Output):
        def put(self, frame: Json) -> None:
            super().put(frame)
            keep(frame, from_adapter=False)

    class TappedHost(host.Host):
        def _on_line(self, line: Line | Oversize) -> None:
            if not isinstance(line, Oversize):
                keep(orjson.loads(line), from_adapter=True)
            super()._on_line(line)

    output.Output = TappedOutput  # type: ignore[misc]
    host.Host = TappedHost  # type: ignore[misc]


def _slim(frame: Json) -> Json:
    """A frame without what nobody asks about: a page of history is long, and most of it is no approval."""
    if "result" in frame and len(orjson.dumps(frame)) > LONG:
        return {**frame, "result": {"approvals": list(_approvals(frame["result"]))}}
    if "params" in frame and "approval" not in frame["method"] and len(orjson.dumps(frame)) > LONG:
        return {**frame, "params": {name: frame["params"].get(name) for name in ("sessionId", "commandId")}}
    return frame


def _approvals(value: Any) -> Iterator[Json]:
    if isinstance(value, dict):
        if "approvalId" in value and isinstance(value.get("availableChoices"), list):
            yield value
        for member in value.values():
            yield from _approvals(member)
    elif isinstance(value, list):
        for member in value:
            yield from _approvals(member)
