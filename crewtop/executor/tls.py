"""One TLS context for the clients of all models.

CrewAI makes two clients an LLM, and a crew often an LLM an agent; each client reads all certificates anew, which takes
some 30 ms: more than everything else that such a crew does. Contexts are made to be shared
(https://docs.python.org/3.11/library/ssl.html#ssl-contexts), and forked runs get the zygote's.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from ssl import SSLContext
from typing import Any

import httpx._transports.default

_TRANSPORTS: Any = httpx._transports.default
FROM_ENVIRONMENT = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def share_contexts() -> None:
    """Let clients that ask for nothing special share a context, in this process and those forked from it.

    One that brings its own certificates, or trusts others, has its own as before.
    """
    make: Callable[..., SSLContext] = _TRANSPORTS.create_ssl_context

    @cache
    def shared(trust_env: bool, *_: str | None) -> SSLContext:
        return make(trust_env=trust_env)

    def create(verify: Any = True, cert: Any = None, trust_env: bool = True) -> SSLContext:
        if verify is not True or cert is not None:
            return make(verify=verify, cert=cert, trust_env=trust_env)
        return shared(trust_env, *(os.environ.get(name) for name in FROM_ENVIRONMENT))

    _TRANSPORTS.create_ssl_context = create
