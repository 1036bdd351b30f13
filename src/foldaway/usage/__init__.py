"""What sessions used and cost, from the agents' own files and from the store; nothing is sent."""
