"""Foldaway inside agent frameworks and in clients of providers; import the one you need."""
