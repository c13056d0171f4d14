"""What clients are offered, side by side, and below it why something is not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from adapter.cli.doctor.negotiation import FEATURES
from adapter.cli.doctor.report import Offer
from adapter.cli.doctor.style import NARROW, Look

Reasons = dict[tuple[str, str], list[str]]
"""The clients that something is withheld from, by the feature and the reason."""


def offers_part(offers: Sequence[Offer], look: Look, columns: int) -> RenderableType:
    """A table of features and clients if it fits, else a list by client; and the reasons."""
    features = features_of(offers)
    # With the blanks between columns.
    needed = max(map(len, features), default=0) + sum(len(offer.client) + 3 for offer in offers)
    beside = _table(offers, features, look) if needed <= columns else Group(*_lists(offers))
    reasons = reasons_of(offers)
    if not reasons:
        return beside
    return Group(beside, Text(), look.title("Not offered, and why"), Text(), _why(reasons, len(offers), look, columns))


def features_of(offers: Sequence[Offer]) -> list[str]:
    """Every feature that is spoken of, those that belong together side by side."""
    named = {feature for offer in offers for feature in (*offer.offered, *(one.feature for one in offer.withheld))}
    return [feature.name for feature in FEATURES if feature.name in named]


def reasons_of(offers: Sequence[Offer]) -> Reasons:
    """Why something is withheld."""
    reasons: Reasons = {}
    for offer in offers:
        for one in offer.withheld:
            reasons.setdefault((one.feature, one.reason), []).append(offer.client)
    places = {feature: place for place, feature in enumerate(features_of(offers))}
    return dict(sorted(reasons.items(), key=lambda item: places[item[0][0]]))


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


def _why(reasons: Reasons, of: int, look: Look, columns: int) -> RenderableType:
    told = [(feature, _reason(reason, clients, of)) for (feature, reason), clients in reasons.items()]
    if columns < NARROW:
        return Group(*(Group(Text(feature, "bold"), Padding(reason, (0, 0, 0, 2))) for feature, reason in told))
    table = look.table()
    table.add_column("feature", no_wrap=True)
    table.add_column("why it is not offered", ratio=1, overflow="fold")
    for feature, reason in told:
        table.add_row(feature, reason)
    return table


def _reason(reason: str, clients: Sequence[str], of: int) -> Text:
    """Why, and to whom it is not offered unless that is everybody."""
    return Text.assemble(reason, (f" (for {', '.join(clients)})" if len(clients) < of else "", "dim"))
