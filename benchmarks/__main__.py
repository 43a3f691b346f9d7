"""`python -m benchmarks`: all of them, one after another."""

from benchmarks import engine, first_frame, runs

for benchmark in (first_frame, engine, runs):
    benchmark.main()
