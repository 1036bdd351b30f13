"""A chat in the terminal; hosts can copy its model, tools and turns, which do not know it."""
