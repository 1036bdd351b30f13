"""What survives a compaction, judged without a model and without the ledger's own code.

Nothing here imports the pipeline, the engine, the reduction or the search of Foldaway, and none of
them imports this: what marks its own work proves nothing.
"""
