"""`make soak`: half an hour of everything at once, with a client that knows what must come."""
