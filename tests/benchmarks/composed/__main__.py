"""`python -m tests.benchmarks.composed --muse COMMAND...`: serve an editor on stdin and stdout."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from typing import cast

from acp import Agent, run_agent

from tests.benchmarks.composed.agent import MuseAgent


async def serve(command: Sequence[str]) -> None:
    """Serve until the editor closes stdin, then end the host."""
    agent = MuseAgent(command)
    try:
        # What the agent does not have is answered with "method not found", so it is less than the whole protocol.
        await run_agent(cast(Agent, agent))
    finally:
        await agent.close()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="composed")
    parser.add_argument(
        "--muse", nargs=argparse.REMAINDER, default=["muse"], help="the command line of the host, without `serve`"
    )
    asyncio.run(serve(parser.parse_args().muse))


if __name__ == "__main__":
    main()
