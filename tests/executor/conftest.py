"""One zygote for all tests of the executor, and the simulated provider in the tests' own event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from crewtop.demo.provider.server import Provider, serve
from crewtop.executor.client import Zygote
from tests.executor.runs import Executor

TARGETS = Path(__file__).parent / "targets"


@pytest.fixture(scope="session")
def zygote_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("zygote") / "log"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def zygote(zygote_log: Path) -> AsyncIterator[Zygote]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REDIS_URL", "redis://secret")
        patch.setenv("CREWTOP_POSTGRES", "postgres://secret")
        patch.setenv("CREWTOP_REDIS", "redis://secret")
        zygote = await Zygote.start(path=TARGETS, log=zygote_log)
    yield zygote
    await zygote.close()
    assert zygote_log.stat().st_size == 0  # whatever the runs of all tests printed


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def provider() -> AsyncIterator[Provider]:
    async with serve() as provider:
        yield provider


@pytest.fixture
def executor(zygote: Zygote, provider: Provider, tmp_path: Path) -> Executor:
    return Executor(zygote, tmp_path, provider.url)
