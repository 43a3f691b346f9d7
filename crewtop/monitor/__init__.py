"""Postgres and Redis turned into Snapshots, once a tick."""
