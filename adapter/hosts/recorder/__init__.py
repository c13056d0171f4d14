"""The recorder: stands between a client and its host or agent, and keeps what the two say. Imports no more than
`adapter.wire`: what goes by need not be understood to be kept."""
