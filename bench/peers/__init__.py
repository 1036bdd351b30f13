"""Other tools beside Foldaway in the lab: each in a venv of its own, behind one small protocol.

A peer never becomes a dependency: it is installed on demand, driven by a script of `workers/` that
runs on the peer's Python and imports nothing of Foldaway, and asked over pipes, a JSON line each
way. Whatever a peer does is a value: `Answer`, or `Failure` with a sentence for the table.
"""
