"""Run one crew of the shop in this process and print what came of it as one line of JSON.

A process of its own keeps CrewAI, and what it does to signal handlers and threads, out of the tests' process.
Usage: shop_run.py CREW INPUTS_AS_JSON, with CREWTOP_DEMO_PROVIDER and CREWTOP_RUN_ID in the environment.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from importlib import import_module


def main(name: str, inputs: dict[str, str]) -> dict[str, object]:
    factory = getattr(import_module("crewtop.demo.crews"), name)
    if inspect.signature(factory).parameters:
        return {"output": factory(inputs)}
    crew = factory()
    required = sorted(crew.fetch_inputs())
    try:
        return {"required": required, "output": crew.kickoff(inputs=inputs).raw}
    except Exception as error:
        return {"required": required, "error": type(error).__name__}


if __name__ == "__main__":
    answer = json.dumps(main(sys.argv[1], json.loads(sys.argv[2])))
    sys.stdout.write(f"\n{answer}\n")
    sys.stdout.flush()
    os._exit(0)
