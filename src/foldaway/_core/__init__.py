"""What every package may use: settings and reports as values, protocols, files, the log."""
