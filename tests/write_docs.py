"""Write what the documents repeat of the code: the tables in `docs/simulated-host.md`, `docs/errors.md` and
`docs/configuration.md`, the commands and figures in `README.md`, the demo in `docs/demo.md` and some of it in
`README.md`, the conversation in `docs/stored-output.md`, all of `docs/conformance.md` and `docs/performance.md`; and
what the package page repeats of the README.

`make docs` runs it; tests compare.
"""

from __future__ import annotations

import inspect
import itertools
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from adapter.bridge import host_errors
from adapter.bridge.host_errors import Meaning
from adapter.cli.options import COMMANDS, OPTIONS, GlobalOptions, flag
from adapter.hosts.simulated import faults, profiles, scripts
from adapter.hosts.simulated.settings import Settings
from tests import checklist
from tests.benchmarks import page as performance
from tests.command_line_page import with_commands
from tests.example_conversation import example
from tests.package_page import PAGE, package_page

ROOT: Final = Path(__file__).resolve().parents[1]
README: Final = ROOT / "README.md"
SIMULATED_HOST: Final = ROOT / "docs" / "simulated-host.md"
ERRORS: Final = ROOT / "docs" / "errors.md"
CONFIGURATION: Final = ROOT / "docs" / "configuration.md"
COMMAND_LINE: Final = ROOT / "docs" / "command-line.md"
CONFORMANCE: Final = ROOT / "docs" / "conformance.md"
STORED_OUTPUT: Final = ROOT / "docs" / "stored-output.md"
DEMO: Final = ROOT / "docs" / "demo.md"

DEMO_SECONDS: Final = 60.0

_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SECONDS: Final = re.compile(r"\(\d+\.\d s\)")

_EXAMPLE_BLOCK: Final = re.compile(r"(?<=```text\n)# The client asks.*?(?=```\n)", re.DOTALL)
SHOWN_STEPS: Final = ("An editor talks", "editor  --ACP--", "initialize", "session/prompt              approve")
"""What of the demo stands in the README: the parts with these words at their beginning, and the last line."""
_DEMO_BLOCK: Final = re.compile(r"(?<=```text\n)An editor talks.*?(?=```)", re.DOTALL)


def with_tables(text: str, tables: Mapping[str, list[str]]) -> str:
    """The document with the table of each section as it has to be."""
    for title, table in tables.items():
        before, heading, rest = text.partition(f"## {title}\n")
        lines = rest.split("\n")
        first = next(at for at, line in enumerate(lines) if line.startswith("|"))
        after = next(at for at, line in enumerate(lines) if at > first and not line.startswith("|"))
        text = before + heading + "\n".join([*lines[:first], *table, *lines[after:]])
    return text


def simulated_host() -> dict[str, list[str]]:
    """The tables of `docs/simulated-host.md` by their sections."""
    return {
        "What a prompt does": _table_in(scripts),
        "Versions": _versions(),
        "Settings": _settings(),
        "Faults on purpose": _table_in(faults),
    }


def configuration() -> dict[str, list[str]]:
    """The tables of `docs/configuration.md`."""
    rows = []
    for name, option in OPTIONS.items():
        default = option.default or f"`{_value(GlobalOptions._field_defaults[name])}`"
        rows.append(f"| `{flag(name)}{f' {option.metavar}' if option.metavar else ''}` | {default} | {option.help} |")
    return {"Options": ["| option | default | |", "|---|---|---|", *rows]}


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def readme() -> dict[str, list[str]]:
    """The tables of `README.md`."""
    return {"Commands": ["| command | |", "|---|---|", *(f"| `{name}` | {what} |" for name, what in COMMANDS.items())]}


def _table_in(module: object) -> list[str]:
    """The table in the documentation of a module."""
    return [line for line in (inspect.getdoc(module) or "").splitlines() if line.startswith("|")]


def _versions() -> list[str]:
    return [
        "| version | build | can grant | input parts |",
        "|---|---|---|---|",
        *(
            f"| {profile.version} | `{profile.build}` | {_names(profile.capabilities)} | {_names(profile.parts)} |"
            for profile in profiles.PROFILES.values()
        ),
    ]


def _names(names: frozenset[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _settings() -> list[str]:
    """Members and defaults from the code; what they mean from the strings below them."""
    fields = msgspec.structs.fields(Settings)
    source = inspect.getsource(Settings)
    told = [source.split(f"    {field.name}:")[1].split('"""')[1].rstrip(".") for field in fields]
    return [
        "| member | default | |",
        "|---|---|---|",
        *(
            f"| `{field.encode_name}` | {msgspec.json.encode(field.default).decode()} | {what} |"
            for field, what in zip(fields, told, strict=True)
        ),
    ]


def with_host_errors(text: str) -> str:
    """The document with what the failures of a host become."""
    tables = {
        "| kind | code |": host_errors.REFUSALS,
        "| kind of a turn's failure | code |": host_errors.TURNS,
        "| reason of a deletion that was not done | code |": host_errors.DELETIONS,
        "| what happened | code |": host_errors.ENDS,
    }
    for head, meanings in tables.items():
        before, _, rest = text.partition(head)
        titles, line, *after = rest.split("\n")
        kept = list(itertools.dropwhile(lambda row: row.startswith("|"), after))
        text = before + "\n".join([head + titles, line, *_meanings(meanings), *kept])
    return text


def _meanings(meanings: Mapping[str, Meaning]) -> list[str]:
    return [
        f"| `{kind}` | {one.code} | `{one.reason}` | {'yes' if one.retryable else 'no'} | {one.sentence} |"
        for kind, one in meanings.items()
    ]


def demo_in(text: str) -> str:
    """The output of the demo that a document shows."""
    found = _DEMO_BLOCK.search(text)
    assert found is not None
    return found.group()


def with_demo(text: str, demo: str) -> str:
    """The document with this output of the demo."""
    return text.replace(demo_in(text), demo)


def run_demo() -> str:
    """The output of a demo that has just been run."""
    command = [sys.executable, "-m", "adapter.cli.entry", "demo"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEMO_SECONDS, check=True)
    return as_always(done.stdout)


def some_of(demo: str) -> str:
    """The parts of a demo that the README shows, with a line for what is left out between them."""
    parts = demo.rstrip().split("\n\n")
    shown: list[str] = []
    wanted = list(SHOWN_STEPS)
    for part in parts[:-1]:
        if wanted and wanted[0] in part.partition("\n")[0]:
            del wanted[0]
            shown.append(part)
        elif shown[-1:] != ["…"]:
            shown.append("…")
    assert not wanted, f"the demo has no part with {wanted[0]!r}"
    return "\n\n".join([*shown, parts[-1]]) + "\n"


def as_always(demo: str) -> str:
    """The output of a demo without what differs from run to run: one name for its session, one time it took."""
    text = _UUID.sub("0199f8e2-5b1c-7d3a-9c4e-8a2f6d0b7e15", _SECONDS.sub("(1.5 s)", demo))
    return "".join(f"{line.rstrip()}\n" for line in text.strip().splitlines())


def example_in(text: str) -> str:
    """The conversation that a document shows."""
    found = _EXAMPLE_BLOCK.search(text)
    assert found is not None
    return found.group()


def with_example(text: str) -> str:
    """The document with the conversation of a run."""
    return text.replace(example_in(text), example())


def main() -> None:
    """Write them."""
    STORED_OUTPUT.write_text(with_example(STORED_OUTPUT.read_text("utf-8")), "utf-8")
    SIMULATED_HOST.write_text(with_tables(SIMULATED_HOST.read_text("utf-8"), simulated_host()), "utf-8")
    CONFIGURATION.write_text(with_tables(CONFIGURATION.read_text("utf-8"), configuration()), "utf-8")
    COMMAND_LINE.write_text(with_commands(COMMAND_LINE.read_text("utf-8")), "utf-8")
    CONFORMANCE.write_text(checklist.document(), "utf-8")
    ERRORS.write_text(with_host_errors(ERRORS.read_text("utf-8")), "utf-8")
    demo = run_demo()
    DEMO.write_text(with_demo(DEMO.read_text("utf-8"), demo), "utf-8")
    text = with_tables(README.read_text("utf-8"), readme())
    measured = performance.kept()
    README.write_text(performance.with_speed(with_demo(text, some_of(demo)), measured), "utf-8")
    performance.write(measured)
    PAGE.write_text(package_page(README.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
