"""The shop: an invented stock of products, orders and help pages, and what its staff can do with them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Product:
    """Something on sale; price in US dollars."""

    sku: str
    name: str
    price: Decimal
    in_stock: int


@dataclass(frozen=True, slots=True)
class Customer:
    """Somebody who buys; VIPs are served first."""

    name: str
    vip: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """One order of one product; its status ends with a day."""

    order_id: str
    customer: Customer
    product: Product
    quantity: int
    status: str


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the knowledge base."""

    title: str
    text: str


PRODUCTS = (
    Product("LAMP-01", "brass desk lamp", Decimal("49.00"), in_stock=14),
    Product("LAMP-02", "reading lamp", Decimal("32.50"), in_stock=0),
    Product("MUG-01", "stoneware mug", Decimal("14.00"), in_stock=230),
    Product("BAG-01", "canvas bag", Decimal("27.90"), in_stock=61),
    Product("CLOCK-01", "wall clock", Decimal("58.00"), in_stock=3),
)

CUSTOMERS = (
    Customer("Ada Okafor", vip=True),
    Customer("Bruno Keller"),
    Customer("Chiyo Tanaka"),
    Customer("Dalia Haddad", vip=True),
    Customer("Emil Novak"),
    Customer("Fatou Diallo"),
    Customer("Greta Lind"),
    Customer("Hugo Marsh"),
)

_STATUSES = ("was delivered on", "is on its way, due on", "is being packed, due on", "is late, now due on")


def _order(number: int) -> Order:
    return Order(
        order_id=f"A-{number}",
        customer=CUSTOMERS[number % len(CUSTOMERS)],
        product=PRODUCTS[number % len(PRODUCTS)],
        quantity=1 + number % 3,
        status=f"{_STATUSES[number % len(_STATUSES)]} {1 + number % 28} March",
    )


ORDERS = {order.order_id: order for order in map(_order, range(1001, 1041))}

PAGES = (
    Page("Delivery", "Orders leave within one working day and take two to four more to arrive."),
    Page("Returns", "Anything can be sent back within 30 days; the refund follows within 5 days."),
    Page("Warranty", "Lamps and clocks are covered for two years against faults."),
    Page("Cleaning", "Wipe brass with a dry cloth; the mugs go into the dishwasher, the bags do not."),
    Page("Spare parts", "Bulbs and shades for every lamp stay available for ten years."),
    Page("Invoices", "Invoices come by mail with the parcel and can be sent again on request."),
)


def find_order(order_id: str) -> Order:
    """Return an order by its number. Raises LookupError if the shop has no such order."""
    try:
        return ORDERS[order_id.strip().upper()]
    except KeyError:
        raise LookupError(f"The shop has no order {order_id}; please check the number, it looks like A-1004.") from None


def find_product(sku: str) -> Product:
    """Return a product by its stock number. Raises LookupError if the shop does not sell it."""
    for product in PRODUCTS:
        if product.sku == sku.strip().upper():
            return product
    raise LookupError(f"The shop sells nothing under {sku}; the stock numbers look like LAMP-01.")


def refund(order: Order) -> Decimal:
    """What goes back to the customer for a returned order, in US dollars."""
    return order.product.price * order.quantity


def search_pages(question: str) -> Page:
    """Return the help page that shares most words with a question; the first of equals."""
    asked = _words(question)
    return max(PAGES, key=lambda page: len(asked & _words(f"{page.title} {page.text}")))


def _words(text: str) -> set[str]:
    return {word.strip(".,;?!").lower().removesuffix("s") for word in text.split()}
