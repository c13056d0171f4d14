"""What a host can do beyond what every version can."""

import msgspec


class Abilities(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Optional abilities of a host, as it showed them when it was asked; what nothing is known of counts as lacking.

    `methods` are names such as `session/fork`; `workspace_roots` says that a session may have several folders,
    `list_filter` that `session/list` filters.
    """

    methods: frozenset[str] = frozenset()
    workspace_roots: bool = False
    list_filter: bool = False
