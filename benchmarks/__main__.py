"""`python -m benchmarks`: all of them, one after another."""

from benchmarks import bulk, claim_lock, engine, first_frame, runs

for benchmark in (first_frame, engine, claim_lock, bulk, runs):
    benchmark.main()
