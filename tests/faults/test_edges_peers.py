"""What broke adapters of others, as far as no other test of ours shows that it does not break this one."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from adapter.wire.framing import decode_json
from tests.adapter_process import running_adapter
from tests.faults.ending import end
from tests.scripted_hosts import Placed, ScriptedHost, place

# -- JSON that other readers take

SURROGATE = rb'"\ud800"'
"""Half a character: a line that has one is read in another way than the others."""


@pytest.mark.parametrize("beside", [b"1", SURROGATE], ids=["plain", "with half a character"])
@pytest.mark.parametrize(
    "loose",
    [
        b"[%b,]",
        b'{"a":%b,}',
        b'[%b,"\\u+D4A"]',
        b'[%b,"\\u 41A"]',
        b'[%b,"\\x41"]',
        b'[%b,"a\tb"]',
        b"[%b,01]",
        b"[%b,+1]",
        b"[%b,1.]",
        b"[%b,.5]",
        b"[%b,0x10]",
        b"[%b,1_000]",
        b"[%b,'a']",
        b"[%b,NaN]",
        b"[%b,-Infinity]",
        b"[%b,1e999]",
        b"[%b,True]",
        b"[%b]//",
        b"[%b] [1]",
        b"{a:%b}",
    ],
)
def test_loose_json_is_none(beside: bytes, loose: bytes) -> None:
    with pytest.raises(ValueError):
        decode_json(loose % beside)


# -- a host that cannot be replaced


class DiesAndComesBackWrong(ScriptedHost):
    """Its first run is killed in a turn; the second one ends with 5 before it says anything, the third is right."""

    def serve(self) -> None:
        if len(Placed(self.directory).pids("serve.pids")) == 2:
            os.write(2, b"the settings cannot be read\n")
            os._exit(5)
        super().serve()

    def turn(self, session_id: str, turn_id: str) -> None:
        if len(Placed(self.directory).pids("serve.pids")) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        super().turn(session_id, turn_id)


def test_why_the_next_host_does_not_start_is_told(tmp_path: Path) -> None:
    placed = place(tmp_path / "host", DiesAndComesBackWrong)
    with running_adapter(tmp_path, muse=placed.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        answers = [adapter.response(adapter.begin_prompt(session_id, "go")) for _ in range(3)]
        died, wrong = (answer["error"]["data"] for answer in answers[:2])
        assert died["reason"] == "hostDied"
        assert (wrong["reason"], wrong["exitCode"]) == ("hostStartFailed", 5)
        assert "the settings cannot be read" in wrong["details"]
        assert answers[2]["result"]["stopReason"] == "end_turn"
        end(adapter, placed)


# -- a client that wants stored output, and no Muse that could be asked


@pytest.mark.parametrize("muse", ["/nowhere/muse", "/", os.devnull, "/bin/false", "no-such-muse"])
def test_asking_for_stored_output_needs_no_muse_either(tmp_path: Path, muse: str) -> None:
    with running_adapter(tmp_path, muse=muse) as adapter:
        told = adapter.initialize(clientCapabilities={"_meta": {"muse/output": 1}})
        assert "muse/output" not in told.get("_meta", {})
        assert told["agentCapabilities"]["loadSession"] is True
        error = adapter.refused("session/new", {"cwd": str(tmp_path), "mcpServers": []})
        assert error["data"]["reason"] in ("museNotFound", "hostStartFailed")
        end(adapter)
