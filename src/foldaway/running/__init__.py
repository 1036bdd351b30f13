"""Agents that are started with a gateway in front of them, and the listener that they talk to."""
