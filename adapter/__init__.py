"""ACP adapter for Muse Code."""
