"""Plain data that every other room speaks in: no I/O, nothing of ours imported from outside this folder."""
