"""From a prompt to its answer: input, queue, stops, steering."""
