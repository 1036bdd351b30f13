"""Search without I/O: what is indexed, what a query means, how hits are ranked and shown."""
