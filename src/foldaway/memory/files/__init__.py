"""The built-in memory: Markdown files that people and agents write."""
