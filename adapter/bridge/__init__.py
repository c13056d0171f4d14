"""Where ACP and MSP meet."""
