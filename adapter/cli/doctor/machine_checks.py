"""What the adapter runs in: `environment`, `terminal`, `dependencies`. Of variables the names only, never a value."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Final

import msgspec

from adapter import __version__
from adapter.bridge.hosts.host_choice import NESTED_MARKERS
from adapter.bridge.hosts.login import API_KEY
from adapter.cli.doctor.finding import Finding
from adapter.cli.doctor.ranges import lies_in, requirement
from adapter.msp.process_mark import VARIABLE as OUR_MARK

_PROXIES: Final = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"})
_PREFIXES: Final = ("MUSE_", "XDG_")

MAX_NAMES: Final = 40
"""Names that are told."""

DISTRIBUTION: Final = "muse-adapter"


def judge_environment(finding: Finding, environ: Mapping[str, str]) -> None:
    """`environment`. `environ` is ours, before anything was left out of it."""
    names = sorted(name for name, value in environ.items() if value and _matters(name))
    left_out = sorted(NESTED_MARKERS & environ.keys())
    finding.facts |= {"set": names[:MAX_NAMES], "leftOut": left_out}
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    finding.good(f"Set: {', '.join(names[:MAX_NAMES])}{more}." if names else "Nothing is set that Muse looks at.")
    if OUR_MARK in environ:
        finding.good(f"{OUR_MARK} says that this runs below a host that an adapter started.")
    if left_out:
        finding.good(f"Not passed on to Muse, since they mark a run inside another agent: {', '.join(left_out)}.")
    folders = [folder for folder in environ.get("PATH", "").split(os.pathsep) if Path(folder).is_absolute()]
    finding.facts["pathFolders"] = len(folders)
    if not _is_long_enough(folders):
        finding.warn(
            "PATH is short: it lacks the folders in which programs usually are, so the tools of Muse may find nothing.",
            "Start the editor from a terminal, or set PATH in what it starts the adapter with.",
        )
    relative = sorted(name for name in names if name.startswith("XDG_") and _is_relative_folder(name, environ[name]))
    if relative:
        many = len(relative) > 1
        finding.warn(
            f"{' and '.join(relative)} {'are no absolute paths and are' if many else 'is no absolute path and is'} not "
            "looked at.",
            f"Set {'them to absolute paths' if many else 'it to an absolute path'}, or not at all.",
        )
    _judge_home(finding, environ)


def _judge_home(finding: Finding, environ: Mapping[str, str]) -> None:
    """Muse keeps its sessions and its login below it; ours is looked up elsewhere if it is not set."""
    if os.name != "posix":
        return
    home = environ.get("HOME", "")
    if Path(home).is_absolute() and Path(home).is_dir():
        return
    what = "is not set" if not home else "is no absolute path" if not Path(home).is_absolute() else "names no folder"
    finding.warn(f"HOME {what}, so Muse may not find its login and its sessions.", "Set HOME to your home folder.")


def _matters(name: str) -> bool:
    upper = name.upper()
    return name == API_KEY or upper in _PROXIES or name.startswith(_PREFIXES)


def _is_long_enough(folders: Iterable[str]) -> bool:
    return os.name != "posix" or {"/usr/bin", "/bin"} & {folder.rstrip("/") for folder in folders} != set()


def _is_relative_folder(name: str, value: str) -> bool:
    return name.endswith("_HOME") and not Path(value).is_absolute()


def judge_terminal(finding: Finding, environ: Mapping[str, str]) -> None:
    """`terminal`."""
    # Not `sys.stdout`, in whose place something may stand while a spinner turns.
    stdout = sys.__stdout__
    encoding = (getattr(stdout, "encoding", None) or "unknown").lower()
    is_terminal = bool(stdout and stdout.isatty())
    system = f"{platform.system()} {platform.release()} ({platform.machine()})"
    windows_subsystem = "WSL_DISTRO_NAME" in environ or "microsoft" in platform.release().lower()
    finding.facts |= {
        "system": system,
        "windowsSubsystem": windows_subsystem,
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "executable": sys.executable,
        "stdoutIsTerminal": is_terminal,
        "encoding": encoding,
    }
    below = ", in the Windows Subsystem for Linux" if windows_subsystem else ""
    finding.good(
        f"{system}{below}; {platform.python_implementation()} {platform.python_version()}; "
        f"stdout is {'a' if is_terminal else 'no'} terminal and takes {encoding}."
    )
    if encoding.replace("-", "").replace("_", "") != "utf8":
        finding.warn(
            f"What {encoding} has no characters for is shown as question marks.",
            "Set PYTHONUTF8=1, or a locale with UTF-8. What editors get is always UTF-8.",
        )


def judge_dependencies(finding: Finding) -> None:
    """`dependencies`."""
    finding.facts["python"] = sys.executable
    try:
        installed = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        finding.warn(
            f"{DISTRIBUTION} runs from source files and is not installed, so nothing says which versions it wants.",
            "Install it, as the README says.",
        )
        return
    editable = _is_editable(installed)
    finding.facts |= {"version": __version__, "installedAs": "checkout" if editable else "wheel", "packages": {}}
    told = []
    for line in installed.requires or ():
        wanted = requirement(line)
        if wanted is not None:
            told.append(_judge_one(finding, *wanted))
    source = "a checkout" if editable else "a wheel"
    finding.good(f"{DISTRIBUTION} {__version__} from {source}; {', '.join(told)}.")
    if installed.version != __version__:
        finding.warn(
            f"What is installed is {installed.version}, what runs is {__version__}.",
            "Install it anew, in the environment that runs it.",
        )


def _judge_one(finding: Finding, name: str, wanted: str) -> str:
    """Note one dependency; gives its name and version."""
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        version = "missing"
    fits = lies_in(version, wanted)
    finding.facts["packages"][name] = {"version": version, "wanted": wanted, "fits": fits}
    if not fits:
        finding.warn(f"{name} is {version}, and {wanted} is wanted.", f"Install {name}{wanted}.")
    return f"{name} {version}"


class _Origin(msgspec.Struct):
    """`direct_url.json` of an installed package."""

    dir_info: dict[str, bool] = {}


def _is_editable(installed: metadata.Distribution) -> bool:
    try:
        origin = msgspec.json.decode(installed.read_text("direct_url.json") or "{}", type=_Origin)
    except ValueError:
        return False
    return origin.dir_info.get("editable", False)
