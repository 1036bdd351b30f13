"""The rules, a file for each subject; `profiles.py` says which of them a provider has."""
