"""What survives a compaction, measured without a model; `bench/quality.py` is the entry."""
