"""Services around the pipeline: the one-shot run, the long-lived engine."""
