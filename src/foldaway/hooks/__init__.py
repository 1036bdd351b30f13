"""What the hooks of coding agents get: facts for a compaction, facts after it, short results."""
