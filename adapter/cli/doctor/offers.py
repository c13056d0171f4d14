"""What clients are offered, side by side, and below it why something is not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from adapter.cli.doctor.report import Offer
from adapter.cli.doctor.style import Look

Reasons = dict[str, dict[str, list[str]]]
"""By reason the features that are withheld for it, each with the clients it is withheld from."""


def offers_part(offers: Sequence[Offer], look: Look, columns: int) -> RenderableType:
    """A table of features and clients if it fits, else a list by client; and the reasons."""
    features = features_of(offers)
    needed = max(map(len, features), default=0) + sum(len(offer.client) + 3 for offer in offers)
    beside = _table(offers, features, look) if needed <= columns else Group(*_lists(offers))
    reasons = reasons_of(offers)
    if not reasons:
        return beside
    return Group(beside, Text(), look.title("Not offered, and why"), Text(), *_reasons(reasons, offers))


def features_of(offers: Sequence[Offer]) -> list[str]:
    """Every feature that is spoken of, in the order of the first client, then of the others."""
    named = [[*offer.offered, *(one.feature for one in offer.withheld)] for offer in offers]
    return list(dict.fromkeys(feature for features in named for feature in features))


def reasons_of(offers: Sequence[Offer]) -> Reasons:
    """Why something is withheld."""
    reasons: Reasons = {}
    for offer in offers:
        for one in offer.withheld:
            reasons.setdefault(one.reason, {}).setdefault(one.feature, []).append(offer.client)
    return reasons


def _table(offers: Sequence[Offer], features: Sequence[str], look: Look) -> RenderableType:
    table = look.table()
    table.add_column("feature", no_wrap=True)
    for offer in offers:
        table.add_column(offer.client, no_wrap=True, justify="center" if look.symbols else "left")
    yes, no = Text(look.instead("✓", "yes"), "green"), Text(look.instead("–", "no"), "dim")
    for feature in features:
        table.add_row(Text(feature), *(yes if feature in offer.offered else no for offer in offers))
    return table


def _lists(offers: Sequence[Offer]) -> Iterator[RenderableType]:
    for offer in offers:
        yield Text(f"{offer.client}, {len(offer.offered)} offered", style="bold")
        yield Padding(Text(", ".join(offer.offered) or "nothing"), (0, 0, 0, 2))


def _reasons(reasons: Reasons, offers: Sequence[Offer]) -> Iterator[RenderableType]:
    for reason, withheld in reasons.items():
        yield Text(reason)
        named = (_named(feature, clients, len(offers)) for feature, clients in withheld.items())
        yield Padding(Text(", ".join(named), style="dim"), (0, 0, 0, 2))


def _named(feature: str, clients: Sequence[str], of: int) -> str:
    """A feature, and from whom it is withheld unless that is everybody."""
    return feature if len(clients) == of else f"{feature} ({', '.join(clients)})"
