"""What a tool call did to files, read from its arguments alone."""
