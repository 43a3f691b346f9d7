"""The demo's stream of tasks: endless, repeatable, and fit for the shop's crews."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from itertools import islice

import pytest

from crewtop.demo.shop import CUSTOMERS, ORDERS, find_order
from crewtop.demo.traffic import DemoTask, tasks

MANY = list(islice(tasks(seed=1), 4_000))
VIPS = {customer.name for customer in CUSTOMERS if customer.vip}
QUEUES = {"order": "support", "returns": "support", "product": "support", "briefing": "research"}


def of_known_orders() -> list[DemoTask]:
    return [task for task in MANY if task.inputs.get("order_id") in ORDERS]


def test_traffic_and_provider_leave_crewai_alone() -> None:
    imports = "import sys, crewtop.demo.traffic, crewtop.demo.provider; sys.exit('crewai' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", imports], check=False).returncode == 0


def test_equal_seeds_give_equal_tasks() -> None:
    assert list(islice(tasks(5), 100)) == list(islice(tasks(5), 100))
    assert list(islice(tasks(5), 100)) != list(islice(tasks(6), 100))


def test_every_crew_gets_work_in_its_queue() -> None:
    assert {task.crew: task.queue for task in MANY} == QUEUES
    assert Counter(task.crew for task in MANY)["briefing"] == pytest.approx(400, abs=80)


def test_vip_customers_and_only_they_come_first() -> None:
    for task in MANY:
        assert (task.priority == 1) == (task.inputs.get("customer") in VIPS)
        assert 1 <= task.priority <= 4


def test_a_few_orders_are_unknown_to_the_shop() -> None:
    asked = [task for task in MANY if "order_id" in task.inputs]

    assert len(asked) - len(of_known_orders()) == pytest.approx(0.08 * len(asked), rel=0.3)


def test_customers_ask_for_their_own_orders() -> None:
    for task in of_known_orders():
        assert find_order(task.inputs["order_id"]).customer.name == task.inputs["customer"]
