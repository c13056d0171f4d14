"""What the user sees of tools: cards, diffs, terminals, tasks."""
