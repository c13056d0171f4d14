"""`python -m adapter.hosts.recorded DIR --version | serve [flags]`: a recording in the place of the `muse` binary."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from adapter.hosts.recorded.player import Mismatch, Player
from adapter.hosts.recorded.script import Script, ScriptError, load_script
from adapter.wire.framing import FrameDecoder, Line, Oversize, decode_json
from adapter.wire.pipes import READ_CHUNK

EXIT_OK: Final = 0
EXIT_USAGE: Final = 2
EXIT_CONFIGURATION: Final = 3
"""The directory holds no recording: a mistake in the set-up, like a damaged settings file (`msp.md §23.2`)."""

EXIT_OFF_SCRIPT: Final = 65
"""The client said something the recording does not have; `EX_DATAERR` of sysexits."""

EXIT_UNFINISHED: Final = 66
"""The client left before the recording was through; `EX_NOINPUT` of sysexits."""

_USAGE: Final = """\
usage: python -m adapter.hosts.recorded DIR --version
       python -m adapter.hosts.recorded DIR serve [flags]

Plays the recording in DIR as if it were a Muse host. The flags are accepted and not used: what was
recorded was recorded with its own. Ends with 65 if the client left the script, 66 if it left early.
"""


def main(argv: list[str]) -> int:
    """Do what the command line says and give the exit code."""
    match argv:
        case ["-h" | "--help"] | [_, "-h" | "--help"]:
            print(_USAGE, end="")
            return EXIT_OK
        case [_, "serve", *flags] if "--help" in flags or "-h" in flags:
            print(_USAGE, end="")
            return EXIT_OK
        case [directory, "--version"]:
            script = _loaded(directory)
            if script is not None:
                print(script.manifest.version_output or f"Muse Code {script.host_version()}")
            return EXIT_CONFIGURATION if script is None else EXIT_OK
        case [directory, "serve", *_]:
            script = _loaded(directory)
            return EXIT_CONFIGURATION if script is None else serve(script)
        case _:
            print(_USAGE, end="", file=sys.stderr)
            return EXIT_USAGE


def serve(script: Script, source: int = 0, sink: int = 1) -> int:
    """Play `script` on two file descriptors until the client closes its end."""
    _say(f"playing a recording (provenance: {script.manifest.provenance}); no model is called")
    player = Player(script)
    decoder = FrameDecoder(script.manifest.server_config.frame_limit_bytes)
    off_script = False
    try:
        _write(sink, player.opening())
        while True:
            data = os.read(source, READ_CHUNK)
            for line in decoder.feed(data) if data else decoder.end():
                answer = _answer(player, line)
                if isinstance(answer, Mismatch):
                    off_script = True
                    _say(str(answer))
                    answer = [answer.reply] if answer.reply is not None else []
                _write(sink, answer)
            if not data:
                break
    except BrokenPipeError:
        _say("the client reads no more")
    return _verdict(player, off_script)


def _answer(player: Player, line: Line | Oversize) -> list[bytes] | Mismatch:
    if isinstance(line, Oversize):
        return player.unreadable(f"is longer than {line.cap} bytes")
    try:
        frame = decode_json(line)
    except ValueError:
        return player.unreadable("is not JSON")
    return player.feed(frame) if isinstance(frame, dict) else player.unreadable("is no JSON object")


def _verdict(player: Player, off_script: bool) -> int:
    unfinished = player.unfinished()
    if unfinished is not None:
        _say(f"unfinished: {unfinished}")
    if off_script:
        return EXIT_OFF_SCRIPT
    return EXIT_OK if unfinished is None else EXIT_UNFINISHED


def _loaded(directory: str) -> Script | None:
    try:
        return load_script(Path(directory))
    except ScriptError as error:
        _say(str(error))
        return None


def _write(sink: int, lines: list[bytes]) -> None:
    rest = memoryview(b"".join(line + b"\n" for line in lines))
    while rest:
        rest = rest[os.write(sink, rest) :]


def _say(text: str) -> None:
    print(f"recorded host: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
