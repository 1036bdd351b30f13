"""Plots and the page of a run."""
