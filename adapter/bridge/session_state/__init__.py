"""What is set and known in a session: options, plan, usage, remarks."""
