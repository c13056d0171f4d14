"""`python -m tests.smoke`: each command of the installed program once, as a user runs it, on whatever system this is.

It needs no more than the installation, and nothing that only some systems have. Exit codes: 0 all went well, 1 not all
of it did.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from adapter import __version__
from adapter.cli.options import COMMANDS
from tests.interop.checks import Check, expect, expect_equal, run_checks

ROOT: Final = Path(__file__).resolve().parents[1]
RECORDING: Final = ROOT / "fixtures" / "hosts" / "1.2.1" / "prompt-turn"

SECONDS: Final = 120.0
"""How long a command may take; far more than any does, so that only a hang meets it."""

BYTES: Final = 300_000


class Smoke:
    """The commands, with a home and a working folder of their own."""

    def __init__(self, home: Path) -> None:
        found = shutil.which("muse-adapter", path=sysconfig.get_path("scripts"))
        expect(found is not None, "muse-adapter is not installed beside this Python")
        self._home = home
        self._program = str(found)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MUSE_", "XDG_"))}
        # Where Windows and POSIX look for the home.
        self._environ = {**kept, "HOME": str(home), "USERPROFILE": str(home), "LOCALAPPDATA": str(home / "local")}
        self.tried: set[str] = set()

    def checks(self) -> list[Check]:
        return [
            Check("it tells its version", self.version),
            Check("it serves, and a prompt is answered", self.serve),
            Check("the demo is as it should be", self.demo),
            Check("the doctor reports on a simulated host", self.doctor),
            Check("a login is run", self.login),
            Check("a stored output is listed and read", self.output),
            Check("a conversation is recorded", self.record),
            Check("the recording is shown, and written as a page", self.inspect),
            Check("a recording is played", self.replay),
            Check("the simulated host runs by itself", self.simulate),
            Check("each command was tried", lambda: expect_equal("what was tried", self.tried, set(COMMANDS))),
        ]

    def version(self) -> None:
        expect_equal("what it calls itself", self._said("--version").splitlines()[0], f"muse-adapter {__version__}")

    def serve(self) -> None:
        self._talk(["--muse", "simulated", "serve"])

    def demo(self) -> None:
        expect("All of it was as it should be" in self._said("demo"), "the demo does not end well")

    def doctor(self) -> None:
        self._said("--muse", "simulated:1.3.0", "doctor")
        report = json.loads(self._said("--muse", "simulated:1.3.0", "doctor", "--json"))
        expect_equal("what the report says", (report["schema"], report["ok"]), (1, True))

    def login(self) -> None:
        self._said("--muse", "simulated", "login")

    def output(self) -> None:
        session = self._talk(["--muse", "simulated"])
        listed = self._said("--muse", "simulated", "output", session).splitlines()
        item = listed[1].split("\t")[0]
        file = self._home / "build.log"
        self._said("--muse", "simulated", "output", session, item, "-o", str(file))
        expect_equal("the bytes of the output", file.stat().st_size, BYTES)

    def record(self) -> None:
        self._talk(["record", str(self._recording), "--", self._program, "--muse", "simulated"])
        manifest = json.loads((self._recording / "manifest.json").read_text("utf-8"))
        expect_equal("what was recorded", manifest["protocol"], "acp")

    def inspect(self) -> None:
        page = self._home / "page.html"
        for recording in (self._recording, RECORDING):
            expect("shell 300" in self._said("inspect", str(recording)), "it does not show the prompt")
            self._said("inspect", str(recording), "--html", str(page))
            expect("shell 300" in page.read_text("utf-8"), "the page does not show the prompt")

    def replay(self) -> None:
        self._said("replay", str(RECORDING), "--version")

    def simulate(self) -> None:
        self._said("simulate", "--version")

    @property
    def _recording(self) -> Path:
        return self._home / "recording"

    def _said(self, *arguments: str) -> str:
        """What a command writes, which has to end well."""
        self.tried |= COMMANDS.keys() & {*arguments}
        done = subprocess.run(
            [self._program, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            cwd=self._home,
            env=self._environ,
            timeout=SECONDS,
            check=False,
        )
        expect(done.returncode == 0, f"exit code {done.returncode}: {done.stdout[-500:]} {done.stderr[-1500:]}")
        return done.stdout

    def _talk(self, arguments: list[str]) -> str:
        """Have an adapter answer a prompt, then end; returns the id of the session."""
        self.tried |= COMMANDS.keys() & {*arguments}
        with self._adapter(arguments) as adapter:
            _ask(adapter, "initialize", protocolVersion=1)
            session: str = _ask(adapter, "session/new", cwd=str(self._home), mcpServers=[])["sessionId"]
            prompt = [{"type": "text", "text": f"shell {BYTES}"}]
            end = _ask(adapter, "session/prompt", sessionId=session, prompt=prompt)
            expect_equal("how the prompt ends", end["stopReason"], "end_turn")
            adapter.communicate(timeout=SECONDS)
            expect_equal("the exit code", adapter.returncode, 0)
        return session

    @contextlib.contextmanager
    def _adapter(self, arguments: list[str]) -> Iterator[subprocess.Popen[str]]:
        adapter = subprocess.Popen(
            [self._program, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            cwd=self._home,
            env=self._environ,
        )
        try:
            yield adapter
        finally:
            if adapter.poll() is None:
                adapter.kill()
                adapter.wait()


def _ask(adapter: subprocess.Popen[str], method: str, **params: Any) -> Any:
    if adapter.stdin is None or adapter.stdout is None:
        raise AssertionError("there are no pipes")
    adapter.stdin.write(json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}) + "\n")
    adapter.stdin.flush()
    for line in adapter.stdout:
        message = json.loads(line)
        if message.get("id") == method:
            expect("result" in message, f"{method} is refused: {message.get('error')}")
            return message["result"]
    raise AssertionError(f"{method} is not answered")


def main() -> int:
    """Run them in a home that is gone afterwards."""
    # A file that a program still holds cannot be removed everywhere.
    with tempfile.TemporaryDirectory(prefix="muse-adapter-smoke-", ignore_cleanup_errors=True) as home:
        return 1 if run_checks(Smoke(Path(home).resolve()).checks()) else 0


if __name__ == "__main__":
    sys.exit(main())
