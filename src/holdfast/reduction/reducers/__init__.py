"""One reducer a file: a function that reads a text and gives it back in fewer characters."""
