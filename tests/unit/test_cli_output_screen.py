"""How far a read is, on terminals of any width."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from adapter.cli.output_screen import columns_for

LONGEST = 999 * 10**9


def line_of(width: int, done: int, total: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    progress = Progress(*columns_for(width), console=console, auto_refresh=False)
    now = iter(range(1000))
    progress.get_time = lambda: next(now)
    task = progress.add_task("reading", total=total)
    for part in range(1, 5):
        progress.update(task, completed=done * part // 4)
    with console.capture() as shown:
        console.print(progress.get_renderable())
    return shown.get().splitlines()


@pytest.mark.parametrize("width", [20, 35, 36, 40, 55, 56, 60, 80, 200])
@pytest.mark.parametrize("total", [0, 7, 20_000, LONGEST])
def test_it_is_one_line_and_nothing_in_it_is_cut(width: int, total: int) -> None:
    shown = line_of(width, total // 3, total)

    assert len(shown) == 1
    assert len(shown[0].rstrip()) <= width
    assert "…" not in shown[0]
    assert shown[0].split()[0][0].isdigit() or shown[0].startswith("reading ")


@pytest.mark.parametrize(("width", "shown"), [(80, ("━", "/s", ":")), (40, ("━",)), (20, ())])
def test_what_there_is_no_room_for_is_left_out(width: int, shown: tuple[str, ...]) -> None:
    (line,) = line_of(width, LONGEST // 3, LONGEST)

    assert "333.0/999.0 GB" in line
    assert tuple(mark for mark in ("━", "/s", ":") if mark in line) == shown
