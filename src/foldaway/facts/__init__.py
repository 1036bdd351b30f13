"""What a message shows: facts, effects, the ledger that keeps them, the summary."""
