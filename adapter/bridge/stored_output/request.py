"""The params of `_muse/readOutput`."""

from __future__ import annotations

import msgspec

from adapter.acp.fields import Fields
from adapter.bridge.stored_output.contract import DEFAULT_LENGTH, MAX_BYTES, MAX_LENGTH
from adapter.wire.envelope import Params


class ReadRequest(msgspec.Struct, frozen=True):
    """One byte range of one output: `offset` and `length` in stored bytes. Equal requests have the same answer."""

    session_id: str
    item_id: str
    ref_id: str
    offset: int
    length: int

    def host_params(self) -> Params:
        """The params of the host's `item/readOutput`."""
        return {
            "sessionId": self.session_id,
            "itemId": self.item_id,
            "outputRef": self.ref_id,
            "offsetBytes": self.offset,
            "lengthBytes": self.length,
        }


def read_request(params: Params) -> ReadRequest:
    """Check 3.

    Raises:
        RpcError: -32602 with `field`.
    """
    fields = Fields(params)
    return ReadRequest(
        session_id=fields.id("sessionId"),
        item_id=fields.id("itemId"),
        ref_id=fields.id("outputRef"),
        offset=_integer(fields, "offsetBytes", 0, MAX_BYTES, 0),
        length=_integer(fields, "lengthBytes", 1, MAX_LENGTH, DEFAULT_LENGTH),
    )


def _integer(fields: Fields, name: str, least: int, most: int, default: int) -> int:
    if not fields.has(name):
        return default
    value = fields.value(name)
    if type(value) is int and least <= value <= most:
        return value
    raise fields.refuse(name, f"must be an integer from {least} to {most}")
