"""Finished runs made to fit a training window: one record, or millions of them in a batch."""
