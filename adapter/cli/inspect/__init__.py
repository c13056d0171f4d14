"""What `muse-adapter inspect` does: a recording as a ladder for people, in the terminal or as one page."""
