"""All rows."""

from __future__ import annotations

from typing import Final

from tests.rules_broken import of_the_machine, of_the_protocols, of_the_wire
from tests.rules_broken.row import Broken

BROKEN: Final[tuple[Broken, ...]] = (*of_the_wire.ROWS, *of_the_protocols.ROWS, *of_the_machine.ROWS)
