from typing import Any, Final

HANDLERS: Final[dict[str, Any]] = {}
