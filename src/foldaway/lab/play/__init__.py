"""Agents with a goal: tasks whose end code can check, played on what strategies leave in view."""
