"""Where events stand relative to each other, without reading anything into a cursor (`msp.md §11.1`)."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, TypeAlias

# Durable events remembered for telling a repeated one; a page refill overlaps by far fewer.
REMEMBERED_CURSORS: Final = 4096

# The live event it came with or after, and its turn among the paged ones there.
Place: TypeAlias = tuple[int, int]

START: Final[Place] = (0, 0)


class ArrivalOrder:
    """The order in which durable events arrived live, so that pages read later can be put in their place.

    `position` is the place of the event being applied. A page event that never arrived stands right behind the
    arrived one before it; so what a page says replaces what was known up to there, and nothing that came after.
    """

    def __init__(self) -> None:
        self.position: Place = START
        self._now = 0
        self._paged = 0
        self._places: OrderedDict[str, Place] = OrderedDict()

    def arrive(self, cursor: str) -> bool:
        """A live event; False if it was seen before."""
        if cursor in self._places:
            return False
        self.settle(cursor)
        return True

    def settle(self, cursor: str | None = None) -> None:
        """Everything up to `cursor` is known as of now."""
        self._now += 1
        self.position = (self._now, 0)
        if cursor is not None:
            self._remember(cursor)

    def walk_from(self, cursor: str | None) -> None:
        """Starts reading pages after `cursor`, or from the beginning."""
        self.position = self._places.get(cursor, START) if cursor is not None else START

    def visit(self, cursor: str) -> bool:
        """The next event of a page; False if it was seen before."""
        place = self._places.get(cursor)
        if place is not None:
            self.position = max(self.position, place)
            return False
        self._paged += 1
        self.position = (self.position[0], self._paged)
        self._remember(cursor)
        return True

    def end_walk(self) -> None:
        self.position = (self._now, self._paged)

    def _remember(self, cursor: str) -> None:
        self._places[cursor] = self.position
        if len(self._places) > REMEMBERED_CURSORS:
            self._places.popitem(last=False)


class Decided:
    """Where the events stand that decided things last, by the name of the thing."""

    def __init__(self, order: ArrivalOrder) -> None:
        self._order = order
        self._places: dict[str, Place] = {}

    def may(self, name: str) -> bool:
        """Whether the event being applied stands no earlier than the one that decided it last."""
        return self._places.get(name, START) <= self._order.position

    def note(self, name: str) -> None:
        """The event being applied has decided it."""
        self._places[name] = self._order.position

    def forget(self, name: str) -> None:
        """It will not be decided again."""
        self._places.pop(name, None)
