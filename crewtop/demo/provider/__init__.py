"""A simulated OpenAI-compatible provider on loopback, with latency, faults and books of its own.

`async with serve(Behaviour(latency_seconds=0.3)) as provider:` runs one in this process, and
`python -m crewtop.demo.provider` as a process of its own. Nobody is billed and nothing leaves the machine.
"""

from crewtop.demo.provider.behaviour import Behaviour, Fault
from crewtop.demo.provider.books import Books, Call
from crewtop.demo.provider.orders import Orders
from crewtop.demo.provider.server import CLIENT_ID_HEADER, MODELS, RUN_HEADER, Provider, serve
from crewtop.demo.provider.usage import Usage

__all__ = [
    "CLIENT_ID_HEADER",
    "MODELS",
    "RUN_HEADER",
    "Behaviour",
    "Books",
    "Call",
    "Fault",
    "Orders",
    "Provider",
    "Usage",
    "serve",
]
