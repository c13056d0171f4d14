"""A session that is opened anew is another one: reads of the one before it end (`stored-output.md`, check 13)."""

from __future__ import annotations

from pathlib import Path

from tests.output_clients import READ, address, error_of, reading, stored


def test_loading_a_session_again_ends_its_reads(tmp_path: Path) -> None:
    with reading(tmp_path, faults=[{"at": "item/readOutput", "do": "hang"}]) as reader:
        session_id = reader.start()
        handle = reader.handle_of("shell 100000")
        read = reader.adapter.begin(READ, address(handle))
        reader.adapter.call("session/load", stored(session_id, tmp_path))
        assert error_of(reader.adapter.response(read)["error"]) == (-32800, {"reason": "sessionClosed"})
        assert reader.adapter.finish() == 0
