"""Facts of a dialogue, from the text of one message: rules, questions, decisions, values."""
