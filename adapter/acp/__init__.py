"""The client side: the Agent Client Protocol."""
