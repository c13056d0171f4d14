"""The whole suite on each Python that is here, on asyncio and on trio."""
