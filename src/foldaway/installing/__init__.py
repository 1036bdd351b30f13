"""Entries of ours in the settings files of other programs; nothing else is touched."""
