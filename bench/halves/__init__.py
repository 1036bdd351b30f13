"""The shared sessions by family, and the two halves in which they are used."""
