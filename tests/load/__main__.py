from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.load.loads import LOADS, measure

for name in sys.argv[1:] or LOADS:
    load = LOADS[name]
    for size in (load.small, load.big):
        with tempfile.TemporaryDirectory() as folder:
            print(name, size, measure(load, size, Path(folder)), flush=True)
