"""What is promised of an installation in which there is nothing else, used from an empty folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

from adapter import __version__
from adapter.cli.options import COMMANDS
from tests.interop.checks import Check, expect, expect_equal
from tests.interop.commands import Done, run
from tests.interop.registry import login_kinds, probing

COMMAND_SECONDS: Final = 60.0
RECORDING: Final = Path("fixtures/hosts/1.2.1/prompt-turn")


def installed_checks(programs: Path, home: Path, folder: Path, root: Path) -> list[Check]:
    """Checks of what is installed beside `programs`, with a home of its own, run in `folder`."""
    adapter = str(programs / "muse-adapter")
    kept = {name: os.environ[name] for name in ("LANG", "PATH") if name in os.environ}
    environ = kept | {"HOME": str(home), "TERM": "dumb"}

    def ran(*command: str) -> Done:
        done = run([*command], folder, environ, COMMAND_SECONDS)
        expect(done.returncode == 0, f"exit code {done.returncode}: {done.stdout[-500:]} {done.stderr[-500:]}")
        return done

    def dependencies() -> None:
        ran(str(programs / "python"), "-m", "pip", "check")

    def imports() -> None:
        code = "import adapter, host_probe; print(adapter.__file__); print(host_probe.__file__)"
        for path in ran(str(programs / "python"), "-c", code).stdout.splitlines():
            expect(Path(path).is_relative_to(programs.parent), f"{path} is not of the installation")

    def version() -> None:
        said = ran(adapter, "--version").stdout
        expect_equal("what it calls itself", said.splitlines()[0], f"muse-adapter {__version__}")

    def commands() -> None:
        said = ran(adapter, "--help").stdout
        missing = [name for name in COMMANDS if name not in said]
        expect(not missing, f"the help does not name {missing}")
        for name in COMMANDS.keys() - {"simulate"}:
            ran(adapter, name, "--help")

    def demo() -> None:
        said = ran(adapter, "demo").stdout
        expect("All of it was as it should be" in said, f"it ends with {said[-500:]!r}")

    def doctor() -> None:
        report = json.loads(ran(adapter, "--muse", "simulated:1.3.0", "doctor", "--json").stdout)
        expect_equal("what the report says", (report["schema"], report["ok"]), (1, True))
        expect_equal("the version", report["adapter"]["version"], __version__)

    def inspect() -> None:
        page = folder / "page.html"
        expect("shell 300" in ran(adapter, "inspect", str(root / RECORDING)).stdout, "it does not show the prompt")
        ran(adapter, "inspect", str(root / RECORDING), "--html", str(page))
        expect("shell 300" in page.read_text("utf-8"), "the page does not show the prompt")
        page.unlink()

    def serve() -> None:
        with probing([adapter], home) as agent:
            first = agent.first_line()
        expect_equal("the version", first["result"]["agentInfo"]["version"], __version__)
        expect(bool(login_kinds(first)), "there is no login")

    def left() -> None:
        expect_equal("what is in the folder", sorted(path.name for path in folder.iterdir()), [])

    return [
        Check("all it depends on is installed", dependencies),
        Check("what it imports is what was installed", imports),
        Check("it tells its version", version),
        Check("it tells its commands", commands),
        Check("the demo is as it should be", demo),
        Check("the doctor reports on a simulated host", doctor),
        Check("a recording is shown, and written as a page", inspect),
        Check("it serves: the first line is an answer", serve),
        Check("nothing is left in the folder it ran in", left),
    ]
