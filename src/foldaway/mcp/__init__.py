"""Past sessions served to agents, through the official SDK of the Model Context Protocol."""
