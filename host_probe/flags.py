"""Which flags `muse serve` knows, by what its help lists."""

import re
from collections.abc import Mapping, Sequence

# Seconds a host gets to print its help.
HELP_TIMEOUT = 5.0

_FLAG = re.compile(rb"(?<![\w-])--[a-z][a-z0-9-]*")


async def serve_flags(
    command: Sequence[str], environ: Mapping[str, str], timeout: float = HELP_TIMEOUT
) -> frozenset[str]:
    """The flags that `serve --help` of the host that `command` runs lists; none if it does not answer in time."""
    from host_probe.brief_run import run_briefly  # here, because a warm start runs nothing

    try:
        output = await run_briefly([*command, "serve", "--help"], environ, timeout)
    except (OSError, ValueError):
        return frozenset()
    if output.exit_code is None:
        return frozenset()
    return frozenset(flag.decode() for flag in _FLAG.findall(output.stdout + b"\n" + output.stderr))
