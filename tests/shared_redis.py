"""All processes of a test run share one Valkey, each with a numbered database of its own."""

from __future__ import annotations

from typing import Any


async def hang_up_on_the_others(client: Any) -> None:
    """End the connections that use the client's numbered database, but its own."""
    me = await client.client_info()
    for other in await client.client_list():
        if other["db"] == str(me["db"]) and other["id"] != str(me["id"]):
            await client.client_kill_filter(_id=other["id"])
