"""How what may be kept in a redacted recording has to look, whatever it is where it stands (`shapes.json`): a name may
mean something else in a frame of tomorrow."""

from __future__ import annotations

import re
from typing import Final


def names(text: str) -> frozenset[str]:
    """The words of a text: shorter to write, and to read, than a list."""
    return frozenset(text.split())


TOOLS: Final = names("""
    apply_patch bash edit_file execute glob grep list_dir list_files muse.subagent_spawn muse.workflow read_file
    read_skill request_user_input search shell web_fetch web_search write_file write_todos
""")
"""Names of tools that come with Muse; any other may be that of somebody's MCP server."""

ARGUMENTS: Final = names("""
    cmd command content contents cron description diff edits file_content file_path filePath filename glob header id
    input label line name new newText new_str new_string objective old oldText old_str old_string options patch
    patch_text path paths pattern prompt q query question questions regex replaceAll replace_all schedule script skill
    startLine start_line status text todos type url uri
""")
"""Names of arguments that tools of Muse have: a card is made of them. Any other name is the tool's, or somebody's."""

WORD: Final = re.compile(r"[A-Za-z][\w.$/+-]{0,79}|2\.0", re.ASCII)
METHOD: Final = re.compile(r"(?:\$/)?[A-Za-z][\w./-]{0,79}", re.ASCII)
ID: Final = re.compile(r"[\w.:+=~-]{1,256}", re.ASCII)
TIME: Final = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?)?", re.ASCII)
FACT: Final = re.compile(r"[\w .:+-]{1,100}", re.ASCII)
