"""Plots of a run, drawn with matplotlib; the same input gives the same bytes."""
