"""The rules, one family a file; `registry.py` joins them."""
