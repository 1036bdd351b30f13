"""Homes of sessions: one store with all semantics, over SQLite or PostgreSQL."""
