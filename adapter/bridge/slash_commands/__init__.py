"""What a prompt with a slash does."""
