"""The replay lab: what recorded sessions would have cost under other strategies."""
