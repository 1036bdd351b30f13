"""How a log becomes a smaller view. START HERE: `compact.plan` and `compact.finish`."""
