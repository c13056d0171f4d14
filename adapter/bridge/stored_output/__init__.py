"""The `muse/output` extension: the full stored output of a tool, by byte range (`docs/stored-output.md`)."""
