"""What crews find in their environment, and what is kept from them."""

from __future__ import annotations

import pytest

from crewtop.executor.environment import crew_environment


@pytest.mark.parametrize("name", ["CREWTOP_ALERTS__DELIVER__OPS__WEBHOOK", "crewtop_alerts__deliver__ops__webhook"])
def test_no_crew_gets_the_address_of_a_webhook(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """However it is written: the settings take either."""
    monkeypatch.setenv(name, "https://hooks.example/hush")
    assert "https://hooks.example/hush" not in crew_environment().values()
