"""Conversations that outlive their process: appended, compacted when due, found again."""
