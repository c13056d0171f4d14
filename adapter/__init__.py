"""ACP adapter for Muse Code."""

__version__ = "0.1.0"
