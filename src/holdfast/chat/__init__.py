"""A chat in the terminal, and the reference for hosts: `holdfast chat`.

`model.py` asks, `tools.py` runs tools, `turn.py` is the loop of a turn; none of them knows the
terminal, which is `screen.py`.
"""
