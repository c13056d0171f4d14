"""What one would compose today: a small ACP adapter for Muse Code out of the two official Python SDKs.

It is what the benchmarks compare with, and follows the documentation of `agent-client-protocol` and `muse-code-sdk`:
a prompt is a turn whose items and deltas are read with the SDK's iterators, and every delta is one `session/update`.
"""
