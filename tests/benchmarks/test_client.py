"""What is measured is the tree that the benchmark is in, whatever is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.benchmarks.client import ADAPTER, bare_environ, client
from tests.benchmarks.fast_host import REPOSITORY, FastHost, place


def test_the_adapter_and_all_it_starts_are_those_of_this_tree(tmp_path: Path) -> None:
    told = "import adapter; print(adapter.__file__)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", told], env=bare_environ(tmp_path), cwd=tmp_path, capture_output=True, check=True
    )
    assert Path(done.stdout.decode().strip()).is_relative_to(REPOSITORY)


def test_it_is_the_whole_adapter(tmp_path: Path) -> None:
    asked = subprocess.run(
        [*ADAPTER, "--version"], env=bare_environ(tmp_path), cwd=tmp_path, capture_output=True, check=True
    )
    assert asked.stdout.startswith(b"muse-adapter")
    with client(tmp_path, "--muse", str(place(tmp_path, FastHost))) as running:
        running.initialize()
        assert running.new_session(tmp_path)
