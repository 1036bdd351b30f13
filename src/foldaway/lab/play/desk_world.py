"""The database of a service desk: customers, orders, tickets, and what was booked."""

from __future__ import annotations

import json
from collections.abc import Mapping

from msgspec import Struct

from foldaway.lab.play.stage import Draw, Stage, Story, pretty, vocabulary

_BY, _CARRIERS = ("system", "carrier", "warehouse", "shop"), ("DHL", "DPD", "GLS", "UPS")


class Purchase(Struct, frozen=True):
    """An order; its first item is the one that a ticket is about."""

    number: str
    day: str
    items: tuple[tuple[str, str, str], ...]
    """Stock number, name and price."""


class Client(Struct, frozen=True):
    """A customer of the shop, as the day begins."""

    number: str
    name: str
    email: str
    address: str
    purchases: tuple[Purchase, ...]


class Ticket(Struct, frozen=True):
    """What a customer wants."""

    number: str
    client: Client
    order: Purchase
    gist: str
    letter: str


class Day(Struct, kw_only=True):
    """What the database has of a day."""

    bulk: float
    """How long results are."""
    voucher: str
    queues: dict[str, str]
    strangers: list[Client]
    tickets: list[Ticket]
    handed: list[int]
    """How many tickets there are in each round."""
    notes: dict[str, str]
    """The credit notes that are needed later, by order."""
    lost: dict[str, str]
    """The tracking numbers of lost parcels, by customer."""


class DeskWorld(Stage):
    """The database of a shop, with what was booked in it."""

    def __init__(self, story: Story, day: Day) -> None:
        """Start with the database of the morning."""
        super().__init__(story)
        self._day, self._words = day, vocabulary()["desk"]
        self._tickets = {one.number: one for one in day.tickets}
        self._clients = {one.client.number: one.client for one in day.tickets}
        self._clients |= {one.number: one for one in day.strangers}
        self._orders = {
            order.number: (client, order)
            for client in self._clients.values()
            for order in client.purchases
        }
        self.known = {
            "ticket": self._tickets.keys(),
            "order": self._orders.keys(),
            "customer": self._clients.keys(),
        }

    def _draw(self, what: str) -> Draw:
        """Return the choices for a text; always the same for the same thing."""
        return Draw(f"{self._day.voucher} {what}")

    def _count(self, draw: Draw, low: int, high: int) -> int:
        return int(draw.randint(low, high) * self._day.bulk)

    def do_list_tickets(self, page: int = 1) -> str:
        """Return the tickets of the day among those of yesterday."""
        draw = self._draw("tickets")
        topics = list(self._words["reasons"])
        rows = [
            (draw.number(5, "T-"), one, draw.one(topics), "new")
            for one in self._day.strangers[: self._count(draw, 30, 70)]
        ]
        rows += [
            (one.number, one.client, one.gist, self._state(one.number))
            for one in self._day.tickets[: self._day.handed[self.round]]
        ]
        shown = rows[max(0, page - 1) * 50 :][:50] if page > 1 else rows[-50:]
        lines = [
            json.dumps(
                {"ticket": number, "from": client.name, "subject": subject, "status": status}
            )
            for number, client, subject, status in shown
        ]
        return f"{len(rows)} tickets, newest last\n" + "\n".join(lines)

    def do_get_ticket(self, ticket: str) -> str:
        """Return a ticket with what was written."""
        one = self._tickets[ticket]
        draw, prose = self._draw(ticket), self._words["prose"]
        sku, item, _ = one.order.items[0]
        client = one.client
        lines = [
            f"{ticket} | {self._state(ticket)} | {client.name} ({client.number}) | "
            f"order {one.order.number} | item {sku} | via {draw.one(['mail', 'chat', 'form'])}",
            f"Subject: {item}",
            "",
            f"[{self._time(draw)}] {client.name} wrote:",
            f"Hello, {one.letter}. {draw.said(prose['customer'], 3, self._count(draw, 5, 9))}",
            client.name,
            "",
        ]
        for _ in range(self._count(draw, 1, 4)):
            lines += [
                f"[{self._time(draw)}] {client.name} wrote:",
                draw.said(prose["customer"], 2, 7),
                "",
            ]
        lines += [
            f"[{self._time(draw)}] internal: {draw.one(prose['notes'])}"
            for _ in range(self._count(draw, 2, 7))
        ]
        return "\n".join(lines)

    def _time(self, draw: Draw) -> str:
        return f"2026-05-{draw.randint(11, 18)} {draw.randint(7, 19):02}:{draw.randint(0, 59):02}"

    def do_find_customer(self, query: str) -> str:
        """Return the customers with one of the names, and the next ones of the alphabet."""
        names = [part for part in query.lower().split() if part]
        ranked = sorted(
            self._clients.values(),
            key=lambda one: (-sum(part in one.name.lower() for part in names), one.name),
        )
        rows = [self._row(one) for one in ranked[: self._count(self._draw(query), 8, 24)]]
        return f"{len(rows)} of {len(self._clients)} customers\n" + "\n".join(rows)

    def _row(self, client: Client) -> str:
        draw = self._draw(client.number)
        return json.dumps(
            {
                "customer": client.number,
                "name": client.name,
                "email": self._field(client, "email", client.email),
                "city": client.address.split()[-1],
                "tier": draw.one(["basic", "basic", "silver", "gold"]),
                "since": f"20{draw.randint(14, 25)}-{draw.randint(1, 12):02}",
                "orders": len(client.purchases),
                "open_balance": "0.00",
            }
        )

    def do_get_customer(self, customer: str) -> str:
        """Return the record of a customer."""
        one = self._clients[customer]
        draw = self._draw(customer)
        record = {
            "customer": one.number,
            "name": one.name,
            "address": self._field(one, "address", one.address),
            "email": self._field(one, "email", one.email),
            "phone": self._field(one, "phone", f"+49 30 {draw.number(7)}"),
            "newsletter": draw.random() < 0.5,
            "log": [
                f"{self._time(draw)} {draw.one(self._words['prose']['events'])}"
                for _ in range(self._count(draw, 5, 20))
            ],
        }
        return pretty(record)

    def do_list_orders(self, customer: str) -> str:
        """Return the orders of a customer."""
        one = self._clients[customer]
        lines = ["order    placed      items  sum       state      first item"]
        for order in one.purchases:
            total = sum(float(price) for _, _, price in order.items)
            state = self._draw(order.number).one(["delivered", "shipped", "delivered", "paid"])
            lines.append(
                f"{order.number}  {order.day}  {len(order.items):<5}  {total:<8.2f}  {state:<9}  "
                f"{order.items[0][1]}"
            )
        return "\n".join(lines)

    def do_get_order(self, order: str) -> str:
        """Return an order with its items, events and refunds."""
        client, one = self._orders[order]
        draw, shown = self._draw(order), self._words["prose"]["events"]
        booked = self.booked.get(("refund", order))
        return pretty(
            {
                "order": order,
                "placed": one.day,
                "customer": client.number,
                "payment": draw.one(["card", "transfer", "invoice"]),
                "items": [
                    {"sku": sku, "name": name, "qty": 1, "price": price}
                    for sku, name, price in one.items
                ],
                "events": [
                    {"at": self._time(draw), "event": draw.one(shown), "by": draw.one(_BY)}
                    for _ in range(self._count(draw, 8, 22))
                ],
                "refunds": [{**booked, "credit_note": self._note(order)}] if booked else [],
            }
        )

    def do_shipment_list(self) -> str:
        """Return what left the house in the morning."""
        draw = self._draw("shipments")
        rows = [(name, tracking) for name, tracking in self._day.lost.items()]
        rows += [
            (one.name, draw.number(10, "JD"))
            for one in self._day.strangers[: self._count(draw, 70, 110)]
        ]
        draw.shuffle(rows)
        lines = ["time   tracking      carrier  kg     zone   recipient"]
        for at, (name, tracking) in enumerate(rows):
            zone = f"{draw.one(['DE', 'AT', 'NL'])}-{draw.randint(1, 19):02}"
            lines.append(
                f"{5 + at // 40:02}:{at % 40 + 11}  {tracking}  {draw.one(_CARRIERS):<7}  "
                f"{draw.randint(3, 290) / 10:<5}  {zone}  {name}"
            )
        return "\n".join([*lines, f"{len(rows)} parcels"])

    def do_read_article(self, title: str) -> str:
        """Return an article of the handbook."""
        title = title.strip().lower()
        texts = self._words["articles"].get(title)
        if texts is None:
            return (
                f"Error: no article {title[:40]!r}. Articles: {', '.join(self._words['articles'])}"
            )
        draw = self._draw(title)
        parts = [f"# {title.capitalize()}", *texts]
        if title == "goodwill":
            parts.insert(
                3, f"The goodwill voucher of this quarter has the code {self._day.voucher}."
            )
        if title == "teams":
            queues = self._day.queues.items()
            parts += [f"Questions about {topic} go to queue {queue}." for topic, queue in queues]
        others = [name for name in ("returns", "shipping", "warranty", "accounts") if name != title]
        for other in draw.sample(others, min(3, round(1.5 * self._day.bulk))):
            parts += [f"## See also: {other}", *self._words["articles"][other]]
        return "\n\n".join(parts)

    def extra(self, tool: str, key: str) -> Mapping[str, str]:
        """Return the credit note of a refund."""
        return {"note": self._note(key)} if tool == "refund" else {}

    def _note(self, order: str) -> str:
        return self._day.notes.get(order) or self._draw(order).number(6, "CN-")

    def _state(self, ticket: str) -> str:
        return next(
            (
                state
                for tool, state in (("close_ticket", "closed"), ("assign", "assigned"))
                if (tool, ticket) in self.booked
            ),
            "open",
        )

    def _field(self, client: Client, field: str, value: str) -> str:
        """Return a field of a customer, as it is now."""
        change = self.booked.get(("update_customer", client.number), {})
        return change["value"] if change.get("field") == field else value
