"""Giving a scan the pages it asks for."""

from __future__ import annotations

from adapter.bridge.stored_output.scan import BackwardScan
from adapter.msp.errors import MspError
from adapter.msp.host import Host


async def walk(scan: BackwardScan, host: Host) -> None:
    """Read pages from `host` until the scan is over.

    Raises:
        MalformedPage, MspError, HostGone: a page was none, or there was none.
    """
    while (params := scan.next_page()) is not None:
        try:
            page = await host.query("view/page", params)
        except MspError as error:
            if error.kind != "pageEventTooLarge" or error.view_cursor is None:
                raise
            scan.skip(error.view_cursor)
        else:
            scan.take(page)
