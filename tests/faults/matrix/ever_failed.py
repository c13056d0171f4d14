"""The cells that found a fault of the adapter, each with what was wrong. They are run by `make test` for ever."""

from __future__ import annotations

from typing import Final

EVER_FAILED: Final = {
    "new:no-result": "an answer with neither a result nor an error was waited for until the time was up",
    "load-page:result-empty": "a page without events was taken for an empty past",
    "list:result-empty": "an answer without a list of sessions was taken for an empty one",
    "fork:closes-stdin": "the copy was refused as in use, while the host that had made it was being ended",
    "answer-question:ignores": "an answer without an acknowledgement was forgotten, and the turn waited for ever",
    "decline-question:ignores": "a declined question without an acknowledgement was waited for for ever",
    "decline-question:error-internal": "so was one that the host refused to take back",
    "clarify:sigkill": "a question asked anew as text waited for a message, and the prompt in line waited for its turn",
    "move-leave:error-internal": "a session that its host kept was said to be open in another program",
    "prompt:client-same-id": "what could not be read as a request was refused under the id of one that was open",
    "tell-item-delta:twice": "a piece of text that was told twice was shown twice",
    "tell-item-delta:too-long": "a piece of text that could not be read was missing from the text for good",
    "tell-item-delta:broken-text": "so was one that was no UTF-8",
    "prompt:client-killed": "the exit code said that all was answered, and nobody had read it",
}
