"""Inside the child process: a crew is loaded, run and reported on. Outside it, only `client` may be imported.

worker (asyncio, `client`) -> zygote (imports CrewAI once) -> one forked child a run (`child`). The worker and the
zygote talk over one socket (`wire`); each child sends `crewtop.model.events` over a socket of its own, and everything
that anything in it prints lands in the run's log. The zygote alone kills and reaps: no signal meets a reused pid.
"""
