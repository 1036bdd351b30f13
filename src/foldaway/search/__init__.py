"""Search: what of a message is found, how a query is read, how hits are ranked. No disk here."""
