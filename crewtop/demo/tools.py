"""What the shop's agents can do, as CrewAI tools.

A "Sku:" line of its own carries the stock number on to the next tool.
"""

from __future__ import annotations

from crewai.tools import tool

from crewtop.demo import shop


@tool
def look_up_order(order_id: str) -> str:
    """Look up an order of the shop by its number, such as A-1004."""
    order = shop.find_order(order_id)
    what = f"{order.quantity} x {order.product.name}"
    return f"Order {order.order_id} ({what}) {order.status}.\nSku: {order.product.sku}"


@tool
def check_inventory(sku: str) -> str:
    """Say how many pieces of a product are in stock, by its stock number, such as LAMP-01."""
    product = shop.find_product(sku)
    stock = f"{product.in_stock} in stock" if product.in_stock else "sold out for now"
    return f"{product.name.capitalize()}: {stock}, {product.price} USD each."


@tool
def process_return(order_id: str, reason: str) -> str:
    """Open the return of an order, by its number, for the reason that the customer gave."""
    order = shop.find_order(order_id)
    return (
        f"Return R-{order.order_id.removeprefix('A-')} is open ({reason}): "
        f"{shop.refund(order)} USD go back within 5 days."
    )


@tool
def search_knowledge_base(question: str) -> str:
    """Find the help page that fits a customer's question."""
    page = shop.search_pages(question)
    return f"{page.text} (help page: {page.title})"
