"""What a message shows: facts, effects, digests, the ledger that keeps them, the summary."""
