"""Which binary a command runs, told from the file alone."""

from collections.abc import Mapping, Sequence

import msgspec

from host_probe.locate import resolve_program


class BinaryIdentity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A binary as it is now, and the arguments it is started with. Replacing or rewriting the binary changes it.

    A `#!` launcher is its own file: when only what it starts changes, this does not. That is accepted, because the
    version in the live handshake is checked again before anything relies on it.
    """

    real_path: str
    size: int
    mtime_ns: int
    inode: int
    arguments: tuple[str, ...]

    def same_command(self, other: "BinaryIdentity") -> bool:
        """Whether both are the same path and arguments, perhaps at different times."""
        return (self.real_path, self.arguments) == (other.real_path, other.arguments)


def identify(command: Sequence[str], environ: Mapping[str, str]) -> BinaryIdentity | None:
    """The identity of the binary that `command` runs, looked up on the PATH of `environ`; None if there is none."""
    program = resolve_program(command[0], environ)
    if program is None:
        return None
    try:
        real_path = program.resolve()
        status = real_path.stat()
    except OSError:  # removed since it was found
        return None
    return BinaryIdentity(str(real_path), status.st_size, status.st_mtime_ns, status.st_ino, tuple(command[1:]))
