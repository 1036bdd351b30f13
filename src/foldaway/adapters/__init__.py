"""Engines behind the contract of a host: ours, memory beside it, and other packages'."""
