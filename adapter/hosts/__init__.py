"""Stand-ins for a Muse host: simulated and recorded."""
