"""Sessions from the list to their end: listed, opened, shown again, copied, deleted."""
