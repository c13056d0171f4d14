"""A recorded Muse host: plays a transcript as if it were the `muse` binary."""

from adapter.hosts.recorded.player import Mismatch, Player
from adapter.hosts.recorded.script import Ended, Line, Manifest, Script, ScriptError, load_script

__all__ = ["Ended", "Line", "Manifest", "Mismatch", "Player", "Script", "ScriptError", "load_script"]
