"""What the plug-ins of agents are answered: a view of their list, a summary, facts, originals."""
