"""The queues that crewtop is measured against, and crewtop itself, each behind the same three functions.

A module of a queue imports that queue's library and nothing of crewtop's: it runs in `.venv-peers`, as
`python -m benchmarks.peers NAME COMMAND`. `catalog` names them all and imports none of them; `contest` starts them.
"""
