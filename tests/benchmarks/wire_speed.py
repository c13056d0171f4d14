"""How fast the wire is, against a bare orjson loop over the same lines in the same run.

Run with `python -m tests.benchmarks.wire_speed`. Every figure is the median of `RUNS` runs.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import orjson

from adapter.wire.envelope import Params, read_line
from adapter.wire.framing import MSP_FRAME_CAP, FrameDecoder, encode_frame
from adapter.wire.peer import Call, Peer, PeerOptions, Work
from adapter.wire.pipes import FdReader, FdWriter

RUNS = 5
LINES = 50_000
LINE_BYTES = 200
READ_BYTES = 64 * 1024
"""What one read of a Linux pipe brings at most."""

PAUSE_EVERY = 500
"""Notifications between two looks at the outbox, as a source that reads from a pipe would make them."""


def delta_frame() -> dict[str, Any]:
    """A streamed text delta, `LINE_BYTES` long on the wire."""
    params = {"sessionId": "ses-alder", "turnId": "trn-1", "itemId": "itm-4", "field": "text", "text": ""}
    frame: dict[str, Any] = {"jsonrpc": "2.0", "method": "item/delta", "params": params}
    params["text"] = "x" * (LINE_BYTES - len(encode_frame(frame, MSP_FRAME_CAP)))
    return frame


def bare_loop(lines: list[bytes]) -> float:
    """Seconds of `orjson.loads` and `orjson.dumps` over every line."""
    began = time.perf_counter()
    for line in lines:
        orjson.dumps(orjson.loads(line), option=orjson.OPT_APPEND_NEWLINE)
    return time.perf_counter() - began


def decode(stream: bytes) -> float:
    """Seconds from bytes to frames: cutting, parsing, classifying."""
    decoder = FrameDecoder(MSP_FRAME_CAP)
    count = 0
    began = time.perf_counter()
    for at in range(0, len(stream), READ_BYTES):
        for line in decoder.feed(stream[at : at + READ_BYTES]):
            read_line(line)
            count += 1
    seconds = time.perf_counter() - began
    assert count == LINES
    return seconds


class Counting:
    """A handler that counts what arrives."""

    def __init__(self) -> None:
        self.count = 0

    def on_notification(self, method: str, params: Params) -> None:
        """Count it."""
        self.count += 1

    def on_request(self, call: Call) -> Work:
        """There are none."""
        raise NotImplementedError


async def hop(params: Params) -> float:
    """Seconds for `LINES` notifications from one peer through a pipe to another."""
    here, there = Counting(), Counting()
    (left_in, right_out), (right_in, left_out) = os.pipe(), os.pipe()
    options = PeerOptions("bench", MSP_FRAME_CAP, MSP_FRAME_CAP)
    source, sink = FdReader(left_in), FdWriter(left_out)
    left = Peer(source, sink, here, options)
    right_source, right_sink = FdReader(right_in), FdWriter(right_out)
    right = Peer(right_source, right_sink, there, options)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(left.run)
        tasks.start_soon(right.run)
        began = time.perf_counter()
        for count in range(LINES):
            left.notify("item/delta", params)
            if count % PAUSE_EVERY == 0:
                await anyio.lowlevel.checkpoint()
                await left.writable()
        await left.flushed()
        sink.close()
        while right.ended is None:
            await anyio.lowlevel.checkpoint()
        seconds = time.perf_counter() - began
        right_sink.close()
    source.close()
    right_source.close()
    assert there.count == LINES
    return seconds


def main() -> None:
    """Measure and print."""
    frame = delta_frame()
    line = encode_frame(frame, MSP_FRAME_CAP)
    assert len(line) == LINE_BYTES
    lines, stream, params = [line] * LINES, line * LINES, frame["params"]
    figures: dict[str, Callable[[], float]] = {
        "decoder + read_line": lambda: decode(stream),
        "peer to peer (asyncio)": lambda: anyio.run(hop, params),
        "peer to peer (trio)": lambda: anyio.run(hop, params, backend="trio"),
    }
    print(f"{LINES} notifications of {LINE_BYTES} bytes, median of {RUNS} runs")
    for name, measure in figures.items():
        # Each run beside its own bare loop: the speed of a shared machine changes from second to second.
        pairs = [(bare_loop(lines), measure()) for _ in range(RUNS)]
        speed = statistics.median(LINES / seconds for _, seconds in pairs)
        ratio = statistics.median(bare / seconds for bare, seconds in pairs)
        print(f"{name:24} {speed:10,.0f} lines/s   {ratio:5.2f} of a bare orjson loads + dumps loop")


if __name__ == "__main__":
    main()
