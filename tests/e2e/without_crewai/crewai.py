"""Stands in CrewAI's way: a worker that finds this first is one on a host without it, and starts ten times faster."""

raise ModuleNotFoundError("No module named 'crewai'", name="crewai")
