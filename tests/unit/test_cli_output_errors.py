"""What `muse-adapter output` says of a read that failed."""

from __future__ import annotations

import pytest

from adapter.bridge.stored_output import errors
from adapter.bridge.stored_output.scan import HistoryScan
from adapter.cli.output_errors import failed
from adapter.wire.envelope import RpcError, too_long

CAP = 20_000


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            errors.offset_inside_character(8),
            "offsetInsideCharacter: --offset is inside a character; the next one that can be read from is 8",
        ),
        (
            errors.offset_inside_character(None),
            "offsetInsideCharacter: --offset is inside a character, and Muse does not say which one could be read from",
        ),
        (errors.offset_out_of_range(7), "offsetOutOfRange: --offset is beyond the output's 7 bytes"),
        (
            errors.piece_too_large(),
            "pieceTooLarge: Muse cannot send that many bytes at once; read fewer, with --offset and --length",
        ),
        (
            errors.host_start_timeout(1.0),
            "hostStartTimeout: Muse was not ready within 1 s; --startup-timeout sets how long it may take",
        ),
        (
            errors.workspace_mismatch(),
            "workspaceMismatch: Muse names no folder of the session, or another one than when the reading began",
        ),
        (
            errors.inconsistent_page(too_long(CAP)),
            "inconsistentPage: Muse's answer is longer than the 20000 bytes that --msp-frame-cap allows",
        ),
        (
            errors.inconsistent_page("the encoding is unknown"),
            "inconsistentPage: The host's page cannot be trusted: the encoding is unknown",
        ),
        (errors.output_unavailable("missing"), "outputUnavailable: The host says the output is missing"),
        (errors.read_timeout(), "readTimeout: The read was not done within 20 s; it may work the next time"),
        (errors.host_died("It ended"), "hostDied: It ended; it may work the next time"),
        (errors.host_error("odd", "no"), 'hostError: no (hostKind "odd")'),
        (errors.host_start_failed("It ended", 3), "hostStartFailed: It ended (exitCode 3)"),
        (errors.host_start_failed("It ended with exit code 3", 3), "hostStartFailed: It ended with exit code 3"),
        (
            errors.output_not_found(HistoryScan("s", "i")),
            "outputNotFound: The item was not found in the newest 0 events of the session",
        ),
        (RpcError(-32603, "Something is wrong", None), "internal: Something is wrong"),
    ],
    ids=str,
)
def test_it_is_a_word_and_a_sentence_in_the_words_of_the_command_line(error: RpcError, said: str) -> None:
    assert str(failed(error, CAP)) == said
