"""A `muse` that runs another one and writes down what is said to it and by it, for recordings.

Only the standard library is used, and lines are passed on as they are.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
READ_BYTES = 1 << 20


def place_listener(directory: Path, command: list[str]) -> str:
    """Write an executable that runs `command` and listens; gives its path, to be used as `--muse`."""
    directory.mkdir(parents=True, exist_ok=True)
    script = directory / "muse"
    script.write_text(
        f"#!{sys.executable}\n"
        "import sys\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from tests.listening_host import main\n"
        f"main({str(directory)!r}, {command!r} + sys.argv[1:])\n"
    )
    script.chmod(0o755)
    return str(script)


def heard(directory: Path) -> list[list[dict[str, str]]]:
    """What was said to and by each host that served, in the order in which they were started."""
    paths = sorted(directory.glob("*.ndjson"), key=lambda path: int(path.stem))
    return [[json.loads(line) for line in path.read_text("utf-8").splitlines()] for path in paths]


def main(directory: str, command: list[str]) -> None:
    """Stand between a client and the host that `command` runs."""
    if "serve" not in command or "--help" in command:
        os.execv(command[0], command)
    number = len(list(Path(directory).glob("*.ndjson"))) + 1
    with (Path(directory) / f"{number}.ndjson").open("x", encoding="utf-8") as transcript:
        sys.exit(_listen(command, transcript.write))


def _listen(command: list[str], write: Callable[[str], object]) -> int:
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as host, selectors.DefaultSelector() as selector:
        assert host.stdin is not None and host.stdout is not None
        ends = {0: ("client", host.stdin.fileno()), host.stdout.fileno(): ("server", 1)}
        unread = dict.fromkeys(ends, b"")
        for source in ends:
            selector.register(source, selectors.EVENT_READ)
        while host.stdout.fileno() in selector.get_map():
            for key, _ in selector.select():
                direction, sink = ends[key.fd]
                data = os.read(key.fd, READ_BYTES)
                if not data:
                    selector.unregister(key.fd)
                    if direction == "client":
                        host.stdin.close()
                    continue
                *lines, unread[key.fd] = (unread[key.fd] + data).split(b"\n")
                for line in lines:
                    write(json.dumps({"dir": direction, "raw": line.decode()}, ensure_ascii=False) + "\n")
                _pass_on(sink, data)
        return host.wait()


def _pass_on(sink: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(sink, rest) :]
