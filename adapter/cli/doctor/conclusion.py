"""The sentence at the end: whether it works, and what to do next. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from adapter.cli.doctor.report import Check, Report


def conclusion(report: Report) -> str:
    """In a sentence or three."""
    failed = [check for check in report.checks if check.status == "fail"]
    if any(not is_read(check) for check in failed):
        begin = f"Begin with {failed[0].id}." if len(failed) > 1 else ""
        return " ".join(filter(None, (f"{_count(failed)} failed: {_names(failed)}.", begin, failed[0].fix)))
    # What follows from the version alone is told in the sentence about stored output.
    warned = [check for check in report.checks if check.status == "warn" and check.id != "surfaces"]
    unsettled = [check for check in report.checks if "unanswered" in check.details]
    reads = [*map(_stop, failed)] or _unfinished(report)
    if unsettled:
        return " ".join((_unsettled(unsettled), *reads))
    works = f"It works, but look at {_names(warned)}." if warned else "Everything works."
    return " ".join(filter(None, (works, _stored_output(report), *reads, _login(report))))


def _unsettled(checks: Sequence[Check]) -> str:
    """The host lives and says nothing."""
    methods = " and ".join(check.details["unanswered"] for check in checks)
    why = f"Whether it works cannot be told, because the host did not answer {methods}: look at {_names(checks)}."
    return " ".join(filter(None, (why, checks[0].fix)))


def is_read(check: Check) -> bool:
    """Whether it is one of the checks of a read of stored output."""
    return check.id.startswith("read.")


def _stop(failed: Check) -> str:
    """Where a read stopped."""
    return f"The read stops at {failed.id} ({failed.details['name']}). {failed.fix or ''}".rstrip()


def _unfinished(report: Report) -> list[str]:
    """Where a read was given up though nothing is wrong: not everything can be told."""
    skipped = next((check for check in report.checks if is_read(check) and check.status == "skipped"), None)
    if skipped is None:
        return []
    return [f"The read was not walked to its end: look at {skipped.id} ({skipped.details['name']})."]


def _stored_output(report: Report) -> str:
    surfaces = _find(report, "surfaces")
    verdict = surfaces.details.get("storedOutput") if surfaces is not None else None
    if surfaces is None or verdict is None:
        return ""
    if verdict == "verified":
        offered = "Stored output is offered to clients that ask for muse/output"
        but = ", but every read is refused, because the host that was started says another version"
        return f"{offered}{but if surfaces.details.get('readsRefused') else ''}."
    version = surfaces.details.get("version")
    if version is None:
        this = "`--version` does not tell the version of this host"
    elif surfaces.details.get("remembered") and version != (report.host.build or report.host.version):
        this = f"{version} is what is remembered of this Muse"
    else:
        this = f"this host is {version}"
    where = " and ".join(surfaces.details["verifiedReleases"]["storedOutput"])
    return f"Stored output is not offered, because {this}; it is verified on {where} only."


def _login(report: Report) -> str:
    login = _find(report, "login")
    if login is None or login.status != "skipped" or "because" in login.details:
        return ""
    return login.fix or ""


def _find(report: Report, check_id: str) -> Check | None:
    return next((check for check in report.checks if check.id == check_id), None)


def _count(checks: Sequence[Check]) -> str:
    return "One check" if len(checks) == 1 else f"{len(checks)} checks"


def _names(checks: Sequence[Check]) -> str:
    return ", ".join(check.id for check in checks)
