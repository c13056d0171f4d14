"""An adapter that tells its tasks: on SIGUSR1 it writes the names of all that run into a file.

Run as a program it is another program of Python beside that: `watched.py FILE PROGRAM WORDS`. The signal is waited for
in a thread of its own; to the adapter, any signal that it is woken by is the first one that asks it to stop.
"""

from __future__ import annotations

import asyncio
import gc
import resource
import runpy
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path


def watched(command: Sequence[str], file: Path) -> list[str]:
    """The command of an adapter, given as Python runs it (`hurried`), that writes its tasks into `file`."""
    python, isolated, *rest = command
    return [python, isolated, __file__, str(file), *rest]


def _tell(file: Path) -> None:
    while True:
        signal.sigwait({signal.SIGUSR1})
        _write(file, "\n".join(sorted(_names())))


def _names() -> Iterator[str]:
    """Of the tasks that run, without those that an event loop has for itself."""
    trio = sys.modules.get("trio")
    for each in gc.get_objects():
        if isinstance(each, asyncio.Task) and not each.done():
            yield each.get_name()
        elif trio is not None and isinstance(each, trio.lowlevel.Task) and each.coro.cr_frame is not None:
            yield from () if each.name.startswith(("<", "trio.")) else (each.name,)


def _write(file: Path, text: str) -> None:
    """Whole from the moment in which it is there, also by a process that may write no files."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (before[1], before[1]))
    new = file.with_suffix(".new")
    new.write_text(text)
    new.replace(file)
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    threading.Thread(target=_tell, args=(Path(sys.argv[1]),), daemon=True).start()
    sys.argv[:] = sys.argv[2:]
    runpy.run_path(sys.argv[0], run_name="__main__")
