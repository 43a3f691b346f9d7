"""What the shop's customers want: an endless stream of tasks, the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from crewtop.demo.shop import CUSTOMERS, ORDERS, Customer

CREW_WEIGHTS = {"order": 40, "returns": 25, "product": 25, "briefing": 10}
UNKNOWN_ORDER_SHARE = 0.08
VIP_PRIORITY = 1
OTHER_PRIORITIES = (2, 3, 4)

_ORDER_QUESTIONS = (
    "Where is my parcel?",
    "When will it arrive?",
    "Can I add one more of the same?",
    "Is it still in stock, should this one be lost?",
)
_REASONS = ("it arrived broken", "the colour is wrong", "ordered twice", "it came too late")
_PRODUCT_QUESTIONS = (
    "How long does delivery take?",
    "Can I put the mugs into the dishwasher?",
    "Where do I get a bulb for my lamp?",
    "How long is the warranty on clocks?",
    "Can you send me the invoice again?",
)
_TOPICS = ("late parcels", "desk lamps", "returns after the sale", "questions about invoices")
_AUDIENCES = ("the owner", "the support team", "the buyers")


@dataclass(frozen=True, slots=True)
class DemoTask:
    """One task to enqueue: a crew's registered name, its inputs, a priority (1 is first) and a queue."""

    crew: str
    inputs: dict[str, str]
    priority: int
    queue: str


def tasks(seed: int) -> Iterator[DemoTask]:
    """Yield tasks for ever: questions, returns and briefings in the shares of CREW_WEIGHTS.

    VIP customers come first (priority 1). A few orders are asked for under a number that the shop does not
    know, so that a tool's error can be seen.
    """
    random = Random(seed)
    while True:
        yield _task(random)


def _task(random: Random) -> DemoTask:
    (crew,) = random.choices(list(CREW_WEIGHTS), weights=list(CREW_WEIGHTS.values()))
    if crew == "briefing":
        inputs = {"topic": random.choice(_TOPICS), "audience": random.choice(_AUDIENCES)}
        return DemoTask(crew, inputs, random.choice(OTHER_PRIORITIES), "research")
    customer = random.choice(CUSTOMERS)
    inputs = {"customer": customer.name}
    if crew == "product":
        inputs["question"] = random.choice(_PRODUCT_QUESTIONS)
    else:
        inputs["order_id"] = _order_id(customer, random)
    if crew == "order":
        inputs["question"] = random.choice(_ORDER_QUESTIONS)
    if crew == "returns":
        inputs["reason"] = random.choice(_REASONS)
    priority = VIP_PRIORITY if customer.vip else random.choice(OTHER_PRIORITIES)
    return DemoTask(crew, inputs, priority, "support")


def _order_id(customer: Customer, random: Random) -> str:
    if random.random() < UNKNOWN_ORDER_SHARE:
        return f"A-{random.randint(9000, 9999)}"
    return random.choice([order.order_id for order in ORDERS.values() if order.customer == customer])
