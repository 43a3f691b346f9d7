"""What each queue itself says of its jobs, in one form."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg
from redis.asyncio import Redis

from tests.chaos.site import Site


@dataclass(frozen=True, slots=True)
class Job:
    """A job as its queue has it.

    number: as in its marks; state: waiting, claimed or ended; completions: when it ended well, in seconds of
    time.time(), as recorded, oldest first: at most one in a queue that keeps its word.
    """

    number: str
    state: str
    completions: tuple[float, ...]


# number, state, completions
SQL = {
    "crewtop": """
        SELECT inputs ->> 'n',
               CASE WHEN status = 'running' THEN 'claimed'
                    WHEN status IN ('completed', 'failed', 'cancelled') THEN 'ended' ELSE 'waiting' END,
               ARRAY(SELECT extract(epoch FROM finished_at)::float8 FROM crewtop.runs
                     WHERE task_id = tasks.id AND outcome = 'completed' ORDER BY 1)
        FROM crewtop.tasks""",
    "pgqueuer": """
        SELECT coalesce(job.id, log.job_id)::text,
               CASE job.status WHEN 'picked' THEN 'claimed' WHEN 'queued' THEN 'waiting' ELSE 'ended' END,
               coalesce(log.completions, '{}')
        FROM pgqueuer AS job
        FULL JOIN (SELECT job_id, array_agg(extract(epoch FROM created)::float8 ORDER BY created)
                            FILTER (WHERE status = 'successful') AS completions
                   FROM pgqueuer_log GROUP BY job_id) AS log ON log.job_id = job.id""",
    "oban": """
        SELECT args ->> 'n',
               CASE WHEN state = 'executing' THEN 'claimed'
                    WHEN state IN ('completed', 'discarded', 'cancelled') THEN 'ended' ELSE 'waiting' END,
               CASE WHEN state = 'completed' THEN ARRAY[extract(epoch FROM completed_at)::float8] ELSE '{}' END
        FROM oban_jobs""",
    "procrastinate": """
        SELECT args ->> 'n',
               CASE status WHEN 'doing' THEN 'claimed' WHEN 'todo' THEN 'waiting' ELSE 'ended' END,
               ARRAY(SELECT extract(epoch FROM at)::float8 FROM procrastinate_events
                     WHERE job_id = job.id AND type = 'succeeded' ORDER BY 1)
        FROM procrastinate_jobs AS job WHERE task_name = 'work'""",
    "saq-postgres": """
        SELECT job -> 'kwargs' ->> 'n',
               CASE WHEN status IN ('active', 'aborting') THEN 'claimed'
                    WHEN status IN ('complete', 'failed', 'aborted') THEN 'ended' ELSE 'waiting' END,
               CASE WHEN status = 'complete' THEN ARRAY[(job ->> 'completed')::float8 / 1000] ELSE '{}' END
        FROM (SELECT status, convert_from(job, 'UTF8')::json AS job FROM saq_jobs) AS jobs""",
}  # fmt: skip
SQL["crewtop-dense"] = SQL["crewtop"]

# Broken histories; counters of depth, and rollups of what completed, that differ from a count either way; completed
# tasks that have other than one completed run.
CREWTOP_FAULTS = """
SELECT
  (SELECT count(*) FROM crewtop.tasks AS t WHERE
     (SELECT array_agg(version ORDER BY version) FROM crewtop.task_history WHERE task_id = t.id)
       IS DISTINCT FROM (SELECT array_agg(v) FROM generate_series(1, t.version) AS v)),
  (SELECT count(*)
   FROM (SELECT queue, crew, status, sum(n)::bigint AS n FROM crewtop.depth GROUP BY 1, 2, 3 HAVING sum(n) <> 0)
     AS counter
   FULL JOIN (SELECT queue, crew, status, count(*) AS n FROM crewtop.tasks GROUP BY 1, 2, 3) AS task
     USING (queue, crew, status)
   WHERE counter.n IS DISTINCT FROM task.n)
  + (SELECT count(*)
     FROM (SELECT queue, crew, sum(completed)::bigint AS n FROM crewtop.stats GROUP BY 1, 2 HAVING sum(completed) <> 0)
       AS rollup
     FULL JOIN (SELECT queue, crew, count(*) AS n FROM crewtop.tasks WHERE status = 'completed' GROUP BY 1, 2) AS task
       USING (queue, crew)
     WHERE rollup.n IS DISTINCT FROM task.n),
  (SELECT count(*) FROM crewtop.tasks AS t WHERE t.status = 'completed' AND
     (SELECT count(*) FROM crewtop.runs WHERE task_id = t.id AND outcome = 'completed') <> 1)
"""


async def jobs(site: Site) -> list[Job]:
    """All jobs that the queue knows. Raises what the driver raises while a server is away."""
    if site.queue.in_redis:
        return await _saq_in_redis(site)
    async with _postgres(site) as connection:
        rows = await connection.fetch(SQL[site.queue.name])
    return [Job(number, state, tuple(completions)) for number, state, completions in rows]


async def left(site: Site) -> bool:
    """Whether a job has not ended yet. Raises as jobs() does."""
    if site.queue.in_redis:
        async with Redis.from_url(site.servers.redis_url or "") as redis:
            return bool(await redis.exists(site.queue.unfinished))
    async with _postgres(site) as connection:
        return bool(await connection.fetchval(site.queue.unfinished))


async def crewtop_faults(site: Site) -> tuple[int, int, int]:
    """Broken histories, wrong counters, tasks completed other than once. Raises as jobs() does."""
    async with _postgres(site) as connection:
        histories, counters, completions = await connection.fetchrow(CREWTOP_FAULTS)
    return histories, counters, completions


@asynccontextmanager
async def _postgres(site: Site) -> AsyncIterator[asyncpg.Connection[Any]]:
    connection = await asyncpg.connect(site.servers.dsn, timeout=10, server_settings={"application_name": "chaos"})
    try:
        yield connection
    finally:
        await connection.close()


async def _saq_in_redis(site: Site) -> list[Job]:
    states = dict.fromkeys(("active", "aborting"), "claimed") | dict.fromkeys(
        ("complete", "failed", "aborted"), "ended"
    )
    found = []
    async with Redis.from_url(site.servers.redis_url or "") as redis:
        async for key in redis.scan_iter("saq:job:jobs:*"):
            job = json.loads(await redis.get(key))
            status = job.get("status", "new")
            completions = (job["completed"] / 1_000,) if status == "complete" else ()
            found.append(Job(str(job["kwargs"]["n"]), states.get(status, "waiting"), completions))
    return found
