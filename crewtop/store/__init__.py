"""Postgres: the truth. The only room that speaks SQL; each statement is a .sql file named for what it does."""
