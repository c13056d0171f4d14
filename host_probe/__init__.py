"""Which host is this, and what has been verified about it."""
