"""Dialects: a provider's wire format, its rules, and what to do where they are broken."""
