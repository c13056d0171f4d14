"""Stand-ins for a Muse host: the simulated one, recordings, and what names them."""
