"""Programs and what they do to files: one file a kind of program, one table `HANDLERS` in each."""
