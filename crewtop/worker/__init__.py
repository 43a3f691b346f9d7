"""The supervisor: claims tasks, runs each in an executor, holds leases, records what happens. It imports no CrewAI."""
