"""`muse-adapter doctor`: what a client would be offered on this machine, what that rests on, and why something is not.

It changes nothing: no session is opened, nothing is remembered, and what it starts it ends, with its whole session.
What a host puts into a session of its own outlives it, as it outlives serving.
"""
