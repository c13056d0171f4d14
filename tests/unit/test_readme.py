"""What the README and the changelog say about commands, options and settings is so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from adapter.cli.options import COMMANDS, GlobalOptions, wanted
from adapter.hosts.simulated import scripts
from host_probe import NotFound, find_muse
from tests.unit.test_cli_options import muse_adapter

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def section(title: str) -> str:
    return README.split(f"## {title}\n")[1].split("\n## ")[0]


def test_the_sections_come_in_the_order_of_a_newcomers_questions() -> None:
    titles = re.findall(r"^## (.*)$", README, re.MULTILINE)

    assert titles[:3] == ["Two commands", "In Zed", "In other editors"]
    assert titles[-1] == "Licence"


def test_settings_are_json_and_start_the_adapter() -> None:
    settings = [json.loads(block) for block in blocks("json")]

    servers = [found["agent_servers"]["Muse"] for found in settings if isinstance(found, dict)]
    assert len(servers) == 2
    for server in servers:
        assert server["command"].endswith("/bin/muse-adapter")
        asked = wanted(server["args"])
        assert asked is not None and asked[0] == "serve"
    assert servers[0]["type"] == "custom"


def test_arguments_in_the_text_are_taken() -> None:
    for words in re.findall(r"`(\[\"--.*?\])`", README):
        asked = wanted(json.loads(words))
        assert asked is not None and asked[0] == "serve"


def test_every_option_named_exists_and_every_option_is_named() -> None:
    existing = set(re.findall(r"(?<= )--[a-z][a-z-]+", muse_adapter("--help").stdout))

    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README)) == existing


def test_the_defaults_are_the_real_ones() -> None:
    usual = GlobalOptions()._asdict()
    listed = {
        cells[0].strip("` ").split()[0].removeprefix("--").replace("-", "_"): cells[1].strip("` ")
        for cells in (
            line.strip("|").split("|") for line in section("Options").splitlines() if line.startswith("| `--")
        )
    }

    for name, default in listed.items():
        if default:
            assert default == f"{usual[name]:g}" if isinstance(usual[name], float) else str(usual[name]) == default


def test_the_commands_are_the_real_ones_in_their_words() -> None:
    listed = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", section("Options"), re.MULTILINE))

    assert listed == COMMANDS


def test_targets_of_make_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")

    for target in set(re.findall(r"`make (\w+)`", README)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_prompts_for_the_simulated_host_are_words_it_knows() -> None:
    prompts = re.findall(r"^  \| (`.*?`) \|", section("When it does not work"), re.MULTILINE)
    words = [word.split()[0] for row in prompts for word in re.findall(r"`(.*?)`", row)]

    assert len(words) > 5
    assert set(words) - set(scripts._SCRIPTS) == {"hello"}


def test_places_are_looked_at_in_the_order_that_is_told(tmp_path: Path) -> None:
    found = find_muse(None, {"PATH": str(tmp_path)}, Path("~"), windows=False)
    if not isinstance(found, NotFound):
        pytest.skip("Muse is installed in one of its usual places")
    places = [attempt.place for attempt in found.attempts if attempt.source == "usual place"]

    told = re.findall(r"`([~/][\w/.]*bin)`", section("How it finds Muse"))
    assert [f"{place}/muse" for place in told] == places


def test_the_changelog_has_a_place_for_what_comes_next() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")

    assert changelog.index("## [Unreleased]") < changelog.index("### Added")
