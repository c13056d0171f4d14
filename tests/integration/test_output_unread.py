"""Pages that a client asks for and does not take do not pile up in the adapter."""

from __future__ import annotations

import time
from pathlib import Path

from tests.output_clients import READ, address, reading
from tests.processes import proc

PAGE = 1024 * 1024
READS = 60
UNREAD_SECONDS = 3.0
"""How long the client takes nothing: enough to fetch all pages, if they were fetched."""

MOST_GROWTH_KIB = 40 * 1024
"""A few pages in their base64 form, and not the 80 MiB that are asked for."""


def resident_kib(pid: int) -> int:
    status = (proc() / str(pid) / "status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")))


def test_reads_wait_for_a_client_that_does_not_read(tmp_path: Path) -> None:
    with reading(tmp_path) as client:
        adapter = client.adapter
        client.start()
        handle = client.handle_of(f"shell binary {READS * PAGE}")
        client.read(handle)
        before = resident_kib(adapter.process.pid)
        asked = [
            {"jsonrpc": "2.0", "id": f"r{number}", "method": READ}
            | {"params": address(handle) | {"offsetBytes": number * PAGE, "lengthBytes": PAGE}}
            for number in range(READS)
        ]
        adapter.pause = UNREAD_SECONDS
        for frame in asked:
            adapter.send(frame)
        largest = before
        deadline = time.monotonic() + UNREAD_SECONDS
        while time.monotonic() < deadline:
            largest = max(largest, resident_kib(adapter.process.pid))
            time.sleep(0.02)
        adapter.pause = 0.0
        assert largest - before < MOST_GROWTH_KIB
        answers = {frame["id"]: adapter.response(frame["id"])["result"]["byteLen"] for frame in asked}
        assert sum(answers.values()) == READS * PAGE
        assert adapter.finish() == 0
