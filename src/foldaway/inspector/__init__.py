"""Pages on which a person sees sessions: what the model saw, what was folded, what it cost."""
