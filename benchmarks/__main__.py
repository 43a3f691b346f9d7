"""`python -m benchmarks`: all of them, one after another."""

from benchmarks import (
    bulk,
    claim_lock,
    engine,
    first_frame,
    llm_books,
    llm_limits,
    llm_overhead,
    llm_pool,
    llm_routing,
    llm_storm,
    percentiles,
    recording,
    rollups,
    runs,
    screen,
    snapshot,
    state_cache,
)

for benchmark in (
    first_frame, screen, engine, claim_lock, bulk, runs, llm_routing, llm_overhead, llm_limits, llm_storm, llm_pool,
    llm_books, recording, state_cache, percentiles, rollups, snapshot,
):  # fmt: skip
    benchmark.main()
