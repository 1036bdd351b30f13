"""The providers' wire formats, written down for tests: one provider a file."""
