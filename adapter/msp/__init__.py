"""The host side: the Muse Session Protocol."""
