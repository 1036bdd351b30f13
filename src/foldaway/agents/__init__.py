"""Other programs: their files, hooks, settings and plug-ins, and how they are started."""
