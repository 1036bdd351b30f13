"""A server between agents and providers: what they send stays valid, small and cached."""
