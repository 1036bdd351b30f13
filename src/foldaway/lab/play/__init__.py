"""Agents with a goal: tasks whose end code can check, played on the contexts that strategies leave."""
