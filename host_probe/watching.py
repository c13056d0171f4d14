"""Who has to know of the processes that are started here."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

# Entered with the pid of each process that is started here, and left when nothing of its group is there any more: for
# whoever has to know of all processes that run.
watch: Callable[[int], AbstractContextManager[object]] = nullcontext
