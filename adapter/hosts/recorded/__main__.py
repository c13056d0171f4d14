"""`muse-adapter replay DIR [--version | serve [flags]]`: a recording in the place of what was recorded.

With `serve` or `--version` it stands in for the `muse` binary, and is what `--muse recorded:DIR` starts. By itself DIR
is played whatever it is a recording of: a Muse host, or an ACP agent.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from adapter.hosts.recorded.player import Mismatch, Player
from adapter.hosts.recorded.script import Script, ScriptError, load_script
from adapter.wire.ends import as_it_ended
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
usage: {program} DIR
       {program} DIR --version
       {program} DIR serve [flags]

Plays the recording in DIR on stdin and stdout: says what the recorded host or agent said, when the client says
what the recorded client said. With --version or serve it takes the place of `muse`; the flags are accepted and
not used: what was recorded was recorded with its own.

exit codes:
  0   the client has said all of it
  3   there is no recording in DIR that can be played
  65  the client has said something else
  66  the client left before the end
If what was recorded ended by itself, so does this, with the same code or by the same signal.

Example: {program} fixtures/hosts/1.2.1/prompt-turn
"""


def main(argv: list[str], program: str = "python -m adapter.hosts.recorded") -> int:
    """Do what the command line says and give the exit code, negative for a signal."""
    match argv:
        case ["-h" | "--help"] | [_, "-h" | "--help"]:
            print(_USAGE.format(program=program), end="")
            return EXIT_OK
        case [directory, "serve", *flags] if "--help" in flags or "-h" in flags:
            print(_USAGE.format(program=program), end="")
            script = _loaded(directory, "msp")
            if script is not None:
                print("\nflags of the recorded host:", *script.manifest.serve_flags, sep="\n  ")
            return EXIT_OK
        case [directory, "--version"]:
            script = _loaded(directory, "msp")
            if script is not None:
                print(script.manifest.version_output or f"Muse Code {script.host_version()}")
            return EXIT_CONFIGURATION if script is None else EXIT_OK
        case [directory] if not directory.startswith("-"):
            script = _loaded(directory)
            return EXIT_CONFIGURATION if script is None else serve(script)
        case [directory, "serve", *_]:
            script = _loaded(directory, "msp")
            return EXIT_CONFIGURATION if script is None else serve(script)
        case _:
            print(f"recording: {_mistake(argv)}\nTry `{program} --help`.", file=sys.stderr)
            return EXIT_USAGE


def _mistake(argv: list[str]) -> str:
    """What is wrong with a command line that asks for nothing there is."""
    match argv:
        case [_, "--version", word, *_]:
            return f"nothing follows --version, not {word!r}"
        case [directory, word, *_] if not directory.startswith("-"):
            return f"behind the folder comes nothing, --version or serve, not {word!r}"
        case [word, *_]:
            return f"a folder with a recording comes first, not {word!r}"
        case _:
            return "a folder with a recording must be named"


def serve(script: Script, source: int = 0, sink: int = 1) -> int:
    """Play `script` on two file descriptors until the client closes its end, or until the recorded command ended by
    itself; the exit code is then as it was, negative for a signal."""
    _say(f"played, no model is called (provenance: {script.manifest.provenance})")
    player = Player(script)
    decoder = FrameDecoder(script.manifest.server_config.frame_limit_bytes)
    off_script = False
    try:
        _write(sink, player.opening())
        while player.ended() is None:
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
    except OSError as error:
        _say(f"the client cannot be reached: {error.strerror or error}")
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
    ended = player.ended()
    if ended is not None:
        _say("the recorded command ended here, by itself")
        return ended
    return EXIT_OK if unfinished is None else EXIT_UNFINISHED


def _loaded(directory: str, protocol: str | None = None) -> Script | None:
    try:
        script = load_script(Path(directory))
    except ScriptError as error:
        _say(str(error))
        return None
    if protocol not in (None, script.manifest.protocol):
        _say(f"{directory} is a recording of an ACP agent, not of a Muse host")
        return None
    if script.note is not None:
        _say(script.note)
    return script


def _write(sink: int, lines: list[bytes]) -> None:
    rest = memoryview(b"".join(line + b"\n" for line in lines))
    while rest:
        rest = rest[os.write(sink, rest) :]


def _say(text: str) -> None:
    print(f"recording: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(as_it_ended(main(sys.argv[1:])))
