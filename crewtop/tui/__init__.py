"""The screen. Nothing else in crewtop imports Textual, and nothing here imports CrewAI, a database driver or Redis."""
