"""`muse-adapter doctor --support`: one file to go with a report of a fault, without secrets and without names."""

from __future__ import annotations

import io
import os
import platform
import time
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from adapter import __version__
from adapter.bridge.hosts.host_choice import HostChoice, version_cache
from adapter.cli.doctor.facts import MuseFacts
from adapter.cli.doctor.redaction import Redaction
from adapter.cli.doctor.report import HostFacts, Offer, Report, Withheld, document
from adapter.cli.doctor.screen import plain

CONTENTS: Final = {
    "report.txt": "this report",
    "report.json": "the same for programs",
    "adapter.json": "versions, the options that were given, the names of environment variables",
    "host-stderr.txt": "the last words of the Muse host that was started for this",
    "remembered.json": "what is remembered of Muse between starts",
}
"""The members, and what is in them."""

LEFT_OUT: Final = "values of environment variables, keys, your home directory, your name and that of this machine"

NOT_LOOKED_AT: Final = (
    "What Muse has written may hold more than a program can recognize. Look through it before you send it."
)

_MODE: Final = 0o600
_MOST_OF_A_DAY: Final = 100


class Bundle(msgspec.Struct, frozen=True):
    """What there is to be told; none of it redacted yet."""

    report: Report
    facts: MuseFacts
    choice: HostChoice
    options: Mapping[str, Any]
    """The global options by their names."""
    environ: Mapping[str, str]


def write(bundle: Bundle, file: Path | None = None) -> Path:
    """Write it to a new file that only its owner can read: `file`, or one with today's date in the current folder.

    Raises:
        OSError: it cannot be written, or is there already.
    """
    data = _zip(_members(bundle))
    if file is not None:
        _create(file, data)
        return file
    today = time.strftime("%Y-%m-%d")
    for number in range(1, _MOST_OF_A_DAY):
        named = Path(f"muse-adapter-report-{today}{f'-{number}' if number > 1 else ''}.zip")
        try:
            _create(named, data)
        except FileExistsError:
            continue
        return named
    raise FileExistsError(f"there are {_MOST_OF_A_DAY - 1} reports of today here")


def announcement(file: Path) -> str:
    """What to tell somebody who has got the file."""
    lines = [f"  {name:16} {what}" for name, what in CONTENTS.items()]
    hidden = f"Left out, or hidden where they were recognized: {LEFT_OUT}.\n{NOT_LOOKED_AT}"
    return "\n".join([f"{file} was written, and only you can read it. It holds:", *lines, hidden])


def _members(bundle: Bundle) -> dict[str, bytes]:
    redaction = Redaction.here(bundle.environ, bundle.choice.home)
    report = _without(bundle.report, redaction)
    return {
        "report.txt": plain(report).encode("utf-8", "replace"),
        "report.json": report.document(),
        "adapter.json": document(redaction.value(_adapter(bundle)) | {"environment": sorted(bundle.environ)}),
        "host-stderr.txt": redaction.text(bundle.facts.last_words or "It said nothing.").encode("utf-8", "replace"),
        "remembered.json": document(redaction.value(_remembered(bundle.choice))),
    }


def _without(report: Report, redaction: Redaction) -> Report:
    """The report without what is hidden; which checks and features it is about stays."""
    text, value = redaction.text, redaction.value
    return Report(
        adapter=value(report.adapter),
        host=HostFacts(**value(msgspec.structs.asdict(report.host))),
        checks=tuple(
            msgspec.structs.replace(
                check, summary=text(check.summary), details=value(check.details), fix=value(check.fix)
            )
            for check in report.checks
        ),
        negotiation=tuple(
            Offer(text(one.client), one.offered, tuple(Withheld(no.feature, text(no.reason)) for no in one.withheld))
            for one in report.negotiation
        ),
    )


def _adapter(bundle: Bundle) -> dict[str, Any]:
    return {
        "adapter": __version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": platform.platform(),
        "options": {name: value for name, value in bundle.options.items() if value is not None},
    }


def _remembered(choice: HostChoice) -> Any:
    cache = version_cache(choice, learns=False)
    if cache is None:
        return {"problem": "nothing is remembered of a stand-in"}
    problem = cache.problem()
    if problem is not None:
        return {"file": str(cache.file), "problem": problem}
    try:
        return {"file": str(cache.file), "content": msgspec.json.decode(cache.file.read_bytes())}
    except FileNotFoundError:
        return {"file": str(cache.file), "problem": "there is none"}
    except (OSError, ValueError) as error:
        return {"file": str(cache.file), "problem": str(error)}


def _zip(members: Mapping[str, bytes]) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            member = zipfile.ZipInfo(name, time.localtime()[:6])
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = _MODE << 16
            archive.writestr(member, data)
    return whole.getvalue()


def _create(file: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(file, flags, _MODE), "wb") as opened:
        try:
            opened.write(data)
            opened.flush()
        except OSError:
            with suppress(OSError):
                file.unlink()
            raise
