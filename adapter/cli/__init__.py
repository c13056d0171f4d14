"""The commands of `muse-adapter`."""
