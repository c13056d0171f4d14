"""stdout of the commands that tell something. Whatever keeps them from telling it is one kind of error."""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from typing import TYPE_CHECKING, Any

from adapter.wire.stdio import STDOUT, is_usable, occupy_stdio

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Unwritable(Exception):
    """What was to be told did not reach anybody; the message says why.

    It is no `OSError`: the libraries in between take those for something they know what to do about.
    """

    def __init__(self, error: OSError) -> None:
        self.why = "it is closed" if error.errno == errno.EBADF else error.strerror or str(error)
        super().__init__(f"cannot write to stdout: {self.why}")
        self.nobody_reads = isinstance(error, BrokenPipeError)
        """Nobody's fault: what reads the pipe has seen enough."""


class _Stdout(io.RawIOBase):
    """The stdout of this process, the errors of which are `Unwritable`."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            # Whoever shares the open file may have made it one that is not waited for.
            while (written := self._raw.write(data)) is None:
                select.select([], [self._raw], [])
        except OSError as error:
            raise Unwritable(error) from None
        return written

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def isatty(self) -> bool:
        return self._raw.isatty()


def claim_stdout() -> None:
    """From now on writing to `sys.stdout` raises `Unwritable` if it fails, also if stdout was closed from the start."""
    occupy_stdio()
    before: Any = sys.__stdout__
    if before is None:
        raw = io.FileIO(STDOUT, "w", closefd=False)
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Stdout(raw)))
        return
    # There is no buffer in between if Python is told to have none.
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Stdout(getattr(before.buffer, "raw", before.buffer))),
        encoding=before.encoding,
        errors=before.errors,
        line_buffering=before.line_buffering,
        write_through=before.write_through,
    )


def require_stdout() -> None:
    """For whatever takes a while, or starts something, to tell of it afterwards.

    Raises:
        Unwritable: stdout is closed.
    """
    if not is_usable(STDOUT):
        raise Unwritable(OSError(errno.EBADF, os.strerror(errno.EBADF)))


def let_go_of_stdout() -> None:
    """What is still held for it goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)
