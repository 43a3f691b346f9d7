"""`python -m benchmarks`: all of them, one after another."""

from benchmarks import bulk, claim_lock, engine, first_frame, llm_routing, runs, screen

for benchmark in (first_frame, screen, engine, claim_lock, bulk, runs, llm_routing):
    benchmark.main()
