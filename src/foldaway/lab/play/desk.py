"""A service desk: tickets of a shop, house rules from the morning, and a database at the end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from foldaway.lab.play.stage import Aim, Draw, Round, Stage, Story, pretty, tools_of, vocabulary
from foldaway.lab.play.task import Call, Move, Need, NeedKind, Task

_STRANGERS = 260
"""Customers besides those of the tickets."""
_BY, _CARRIERS = ("system", "carrier", "warehouse", "shop"), ("DHL", "DPD", "GLS", "UPS")
_CLOSING = frozenset({"close_ticket", "assign"})


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
    """A ticket of the day, and how it is settled between looking at it and the reply."""

    number: str
    client: Client
    order: Purchase
    gist: str
    letter: str
    moves: tuple[Move, ...]
    reply: Move
    is_closed: bool = True


def make(seed: int, number: int) -> Task:
    """Return a task of the desk."""
    draw = Draw(f"desk {seed} {number}")
    shift = Shift(draw)
    shift.write()
    words, story = vocabulary()["desk"], shift.story
    return Task(
        family="desk",
        name=f"desk-{seed}-{number}",
        system=words["system"].format(shop=draw.one(words["shops"])),
        tools=tools_of("desk"),
        opening=story.rounds[0].says,
        start=lambda: DeskWorld(shift),
        steps=len(story.script),
        script=story.procedure(),
    )


class Shift:
    """The day of a desk while it is drawn: its rules, its tickets, and when what is said."""

    def __init__(self, draw: Draw) -> None:
        """Draw the rules, and the size of the day."""
        self.draw, self.words = draw, vocabulary()["desk"]
        self.steps = int(64 * (380 / 64) ** draw.random())
        self.bulk = draw.uniform(1.3, 3.0) * (150 / self.steps) ** 0.25
        """How long results are; shorter in long tasks, so that not all of them are large."""
        self.story = Story()
        self.tickets: list[Ticket] = []
        self.handed: list[int] = []
        """How many tickets there are after each round."""
        self.codes = {reason: draw.number(3, "R-") for reason in self.words["reasons"]}
        self.reasons = draw.sample(list(self.codes), len(self.codes))
        self.limits = draw.sample([90, 120, 150, 180, 220, 260, 300, 340], 2)
        self.warehouses = [draw.once(self._warehouse) for _ in range(2)]
        self.approver = draw.person()
        self.claims = f"CF-{draw.number(4)}-{draw.one('KLMPRT')}"
        self.voucher = f"GW-{draw.code(6).upper()}"
        self.queues = {topic: draw.number(2, "Q-") for topic in self.words["topics"]}
        self.notes: dict[str, str] = {}
        """The credit notes that are needed later, by order."""
        self.lost: dict[str, str] = {}
        """The tracking numbers of lost parcels, by customer."""
        self.strangers = [self._client() for _ in range(_STRANGERS)]

    def write(self) -> None:
        """Draw the tickets and put them into batches, with what is reversed between them."""
        draw = self.draw
        early, late, last, changes = self._far_tickets()
        taken = sum(len(_moves(one)) for one in (*early, *late, *last)) + 8
        small: list[Ticket] = []
        while taken < self.steps:
            small.append(self._small())
            taken += len(_moves(small[-1]))
        first, second = len(small) // 5, 2 * len(small) // 5
        before, after = [*early, *small[:first]], [*late, *small[second:]]
        draw.shuffle(before)
        draw.shuffle(after)
        # what was reversed is needed last, far from where it was said
        after[len(after) - len(after) // 5 :] += last
        self._batch(before)
        self._batch(small[first:second])
        self._batch(after, changes)

    def _far_tickets(self) -> tuple[list[Ticket], list[Ticket], list[Ticket], str]:
        """Return the tickets that need what was said long before, and what is reversed."""
        draw, words = self.draw, self.words
        early: list[Ticket] = []
        late = [self._refund(2), self._lost()]
        last = [self._limited()]
        changes = draw.one(words["limit_changed"]).format(limit=f"{self.limits[1]}.00")
        with_credit = draw.random() < 0.5
        if self.steps > 90 or with_credit:
            first, second = self._credit()
            early.append(first)
            late.append(second)
        if self.steps > 90 or not with_credit:
            first, second = self._moved()
            early.append(first)
            last.append(second)
            changes += "\n" + draw.one(words["warehouse_changed"]).format(
                warehouse=self.warehouses[1]
            )
        more = [self._voucher, lambda: self._refund(3), lambda: self._refund(4), self._lost]
        draw.shuffle(more)
        late += [add() for add in more[: (self.steps - 60) // 30]]
        return early, late, last, changes

    def _batch(self, tickets: Sequence[Ticket], preface: str = "") -> None:
        """Hand the tickets over, one to four at a time."""
        draw, story, at = self.draw, self.story, 0
        while at < len(tickets):
            some = tickets[at : at + draw.randint(1, 4)]
            at += len(some)
            batch = "\n".join(f"- {one.number} {one.client.name}: {one.gist}" for one in some)
            if story.rounds:
                says = draw.one(self.words["batches"]).format(batch=batch)
            else:
                says = self._handover(batch)
                story.script += [
                    Move(Call("shipment_list", {}), "I'll pull the list first."),
                    Move(Call("read_article", {"title": "goodwill"})),
                    Move(Call("list_tickets", {})),
                ]
            story.rounds.append(Round(f"{preface}\n\n{says}".strip(), _CLOSING))
            preface = ""
            for one in some:
                self.tickets.append(one)
                story.script += _moves(one)
                if one.is_closed:
                    story.aims.append(_aim("close_ticket", ticket=one.number))
            self.handed.append(len(self.tickets))
            story.script.append(Move(text=draw.one(self.words["done"])))

    def _handover(self, batch: str) -> str:
        """Return the first message: the house rules."""
        return self.words["handover"].format(
            greeting=self.draw.one(self.words["greetings"]),
            codes="\n".join(f"- {reason}: {code}" for reason, code in self.codes.items()),
            limit=f"{self.limits[0]}.00",
            approver=self.approver,
            warehouse=self.warehouses[0],
            claims=self.claims,
            batch=batch,
        )

    def _warehouse(self) -> str:
        city = self.draw.one(vocabulary()["people"]["cities"])
        return f"{city[:3].upper()}{self.draw.randint(2, 9)}"

    def _address(self) -> str:
        people, draw = vocabulary()["people"], self.draw
        return draw.once(
            lambda: (
                f"{draw.one(people['streets'])} {draw.randint(1, 180)}, "
                f"0{draw.randint(1000, 9998)} {draw.one(people['cities'])}"
            )
        )

    def _client(self, price: int = 0) -> Client:
        draw, name = self.draw, self.draw.person()
        mail = f"{name.lower().replace(' ', '.')}@{draw.one(['mailbox', 'postfach'])}.example"
        bought = [self._purchase(price) for _ in range(draw.randint(3, 9))]
        bought.sort(key=lambda one: one.day)
        return Client(draw.number(5, "C-"), name, mail, self._address(), tuple(bought))

    def _buyer(self, price: int = 0) -> tuple[Client, Purchase]:
        """Return a customer, and an order whose first item has a price that no limit stops."""
        client = self._client(price)
        return client, self.draw.choice(client.purchases[:-1])

    def _purchase(self, price: int = 0) -> Purchase:
        draw, items = self.draw, self.words["items"]
        prices = [price or draw.randint(14, 84)]
        prices += [draw.randint(12, 400) for _ in range(draw.randint(1, 5))]
        return Purchase(
            f"5{draw.number(6)}",
            f"2026-0{draw.randint(1, 4)}-{draw.randint(10, 28)}",
            tuple(
                (
                    draw.number(5, draw.one("BDHKW") + draw.one("ADELN") + "-"),
                    f"{draw.one(items['first'])} {draw.one(items['last'])}",
                    f"{one}.{draw.choice([49, 90, 95, 99])}",
                )
                for one in prices
            ),
        )

    def _want(self, tool: str, **arguments: str) -> None:
        """Add what has to be done: the first argument says to what."""
        self.story.aims.append(_aim(tool, **arguments))

    def _small(self) -> Ticket:
        """Return a ticket that needs nothing from before."""
        draw = self.draw
        kind = draw.choice(["where", "where", "invoice", "email", "assign"])
        client = self._client()
        look = (_FIND, _ORDERS, _RECORD) if kind == "where" else (_FIND, _ORDERS)
        if kind == "email":
            email = f"{client.name.split()[0].lower()}{draw.number(3)}@mail.example"
            self._want("update_customer", customer=client.number, field="email", value=email)
            call = _call("update_customer", customer="{customer}", field="email", value="{email}")
            need = Need(
                "email",
                r"([\w.]+@mail\.example)",
                ("in future|new mail",),
                "unknown@mail.example",
                again=_SHOW,
            )
            return self._ticket(kind, client, (_FIND, _do(call, need)), email=email)
        if kind == "assign":
            topic = draw.choice(self.words["topics"])
            article = _call("read_article", title="teams")
            need = Need("queue", r"\b(Q-\d\d)\b", (topic, "queue"), "Q-10", again=article)
            call = _call("assign", ticket="{ticket}", queue="{queue}")
            moves = (Move(article), _do(call, need))
            ticket = self._ticket(kind, client, moves, is_closed=False, topic=topic)
            self._want("assign", ticket=ticket.number, queue=self.queues[topic])
            return ticket
        return self._ticket(kind, client, look)

    def _refund(self, reason: int) -> Ticket:
        """Return a refund whose reason code was said in the morning."""
        client, order = self._buyer()
        return self._ticket(
            "refund", client, self._refunding(order, reason, "rule"), order, reason=reason
        )

    def _refunding(self, order: Purchase, reason: int, kind: NeedKind) -> tuple[Move, ...]:
        """Return the moves of a refund, and want it."""
        text, price = self.reasons[reason], order.items[0][2]
        self._want("refund", order=order.number, amount=price, code=self.codes[text])
        call = _call("refund", order="{order}", amount="{amount}", code="{code}")
        return _FIND, _ORDERS, _RECORD, _do(call, _AMOUNT, _code(text, kind))

    def _credit(self) -> tuple[Ticket, Ticket]:
        """Return a refund early, and the use of its credit note for another order late."""
        client, order = self._buyer()
        other = client.purchases[-1] if client.purchases[-1] != order else client.purchases[-2]
        note = self.draw.number(6, "CN-")
        self.notes[order.number] = note
        first = self._ticket(
            "credit_early", client, self._refunding(order, 0, "near"), order, reason=0
        )
        self._want("apply_credit", order=other.number, credit_note=note)
        needs = (
            Need("old", r"\b(5\d{6})\b", ("credit note", "refund|gave me"), "5000000", again=_SHOW),
            Need(
                "note",
                r"\b(CN-\d{6})\b",
                ("{old}", "credit note|refund|CN-"),
                "CN-100000",
                "changed",
                _call("get_order", order="{old}"),
            ),
        )
        call = _call("apply_credit", order="{order}", credit_note="{note}")
        second = self._ticket(
            "credit", client, (_FIND, _ORDERS, _do(call, *needs)), other, old=order.number
        )
        return first, second

    def _moved(self) -> tuple[Ticket, Ticket]:
        """Return a change of address early, and a parcel that is sent again to it late."""
        client, order = self._buyer()
        address = self._address()
        self._want("update_customer", customer=client.number, field="address", value=address)
        said = Need("address", _ADDRESS, ("deliver|address",), "the old address", again=_SHOW)
        change = _call("update_customer", customer="{customer}", field="address", value="{address}")
        first = self._ticket("address", client, (_FIND, _do(change, said)), order, address=address)
        self._want("resend", order=order.number, warehouse=self.warehouses[1], address=address)
        needs = (
            Need(
                "address",
                _ADDRESS,
                ("{customer}", "address"),
                "the address on file",
                "changed",
                _call("get_customer", customer="{customer}"),
            ),
            Need("warehouse", r"\b([A-Z]{3}\d)\b", ("resend", "warehouse"), "MAIN", "reversed"),
        )
        call = _call("resend", order="{order}", warehouse="{warehouse}", address="{address}")
        look = (_FIND, _ORDERS, _RECORD)
        return first, self._ticket("resend", client, (*look, _do(call, *needs)), order)

    def _limited(self) -> Ticket:
        """Return a refund between the two limits: what to do is the opposite under the old one."""
        low, high = sorted(self.limits)
        client, order = self._buyer(self.draw.randint(low + 3, high - 3))
        price, text = order.items[0][2], self.reasons[1]
        if high == self.limits[1]:
            self._want("refund", order=order.number, amount=price, code=self.codes[text])
        else:
            self._want("request_approval", order=order.number, amount=price, approver=self.approver)
        needs = (
            _AMOUNT,
            Need(
                "limit",
                r"\b(\d{2,3}\.00)\b(?: EUR)?",
                ("refund", "above|limit|over|up to|more than"),
                "100.00",
                "reversed",
            ),
            _code(text, "rule" if high == self.limits[1] else "near"),
            Need(
                "approver",
                r"\b([A-Z][a-z]+ [A-Z][a-z]+)\b",
                ("approve", "refund"),
                "the shift lead",
                "rule" if high != self.limits[1] else "near",
            ),
        )
        move = Move(
            _call("request_approval", order="{order}", amount="{amount}", approver="{approver}"),
            needs=(*_SEEN, *needs),
            above=("amount", "limit"),
            otherwise=_call("refund", order="{order}", amount="{amount}", code="{code}"),
        )
        return self._ticket("refund", client, (_FIND, _ORDERS, _RECORD, move), order, reason=1)

    def _lost(self) -> Ticket:
        """Return a lost parcel: its number was seen once, in the list of the morning."""
        client, order = self._buyer()
        tracking = self.lost[client.name] = self.draw.number(10, "JD")
        self._want("report_loss", order=order.number, tracking=tracking)
        call = _call("report_loss", order="{order}", tracking="{tracking}")
        need = Need(
            "tracking",
            r"\b(JD\d{10})\b",
            (client.name,),
            "JD0000000000",
            "id",
            _call("shipment_list"),
        )
        moves = (_FIND, _ORDERS, _do(call, need))
        ticket = self._ticket("lost", client, moves, order)
        aim = Aim(
            f"reply {ticket.number}",
            "reply",
            ("ticket", ticket.number),
            {"text": self.claims},
            True,
        )
        self.story.aims.append(aim)
        claims = Need("claims", r"\b(CF-\d{4}-[A-Z])\b", ("lost|claim",), "CF-0000-X", "rule")
        arguments = ticket.reply.call.arguments
        text = f"{arguments['text']}\nOur claims file for the insurer: {{claims}}"
        reply = Move(
            _call("reply", ticket="{ticket}", text=text), needs=(*ticket.reply.needs, claims)
        )
        return replace(ticket, reply=reply)

    def _voucher(self) -> Ticket:
        """Return a case of goodwill: the code was in an article that was read in the morning."""
        client, order = self._buyer()
        self._want("give_voucher", customer=client.number, code=self.voucher)
        call = _call("give_voucher", customer="{customer}", code="{code}")
        need = Need(
            "code",
            r"\b(GW-[0-9A-F]{6})\b",
            ("voucher|goodwill",),
            "GW-000000",
            "rule",
            _call("read_article", title="goodwill"),
        )
        return self._ticket("voucher", client, (_FIND, _do(call, need)), order)

    def _ticket(
        self,
        kind: str,
        client: Client,
        moves: tuple[Move, ...],
        order: Purchase | None = None,
        *,
        is_closed: bool = True,
        reason: int | None = None,
        **facts: str,
    ) -> Ticket:
        """Return a ticket of a kind, with what the customer writes and the usual reply."""
        draw = self.draw
        order = order or draw.choice(client.purchases)
        item = order.items[0][1]
        if reason is None:
            gist = self.words["gists"][kind].format(**facts)
            letter = draw.one(self.words["letters"][kind]).format(**facts)
        else:
            text = self.reasons[reason]
            gist = self.words["gists"][kind].format(reason=text)
            letter = draw.one(self.words["reasons"][text]).format(item=item)
            letter += ". " + draw.one(self.words["letters"].get(kind, ["I want my money back"]))
        reply = draw.one(self.words["prose"]["replies"]).format(first=client.name.split()[0])
        name = Need(
            "ticket", r"\b(T-\d{5})\b", (client.name,), "T-00000", again=_call("list_tickets")
        )
        head = (
            Move(_call("get_ticket", ticket="{ticket}"), draw.one(self.words["thinking"])),
            *moves,
        )
        return Ticket(
            self.draw.number(5, "T-"),
            client,
            order,
            gist,
            letter,
            tuple(replace(move, needs=(name, *move.needs)) for move in head),
            Move(_call("reply", ticket="{ticket}", text=reply), needs=(name,)),
            is_closed,
        )


_ADDRESS = r"\b([A-Z][a-z]+ \d+, \d{5} [A-Z][a-z]+)"


def _call(tool: str, **arguments: str) -> Call:
    return Call(tool, arguments)


_SHOW = _call("get_ticket", ticket="{ticket}")
_SEEN = (
    Need("name", r"\b([A-Z][a-z]+ [A-Z][a-z]+)\b", ("{ticket}",), "the customer", again=_SHOW),
    Need("customer", r"\b(C-\d{5})\b", ("{ticket}",), "C-00000", again=_SHOW),
    Need("order", r"\b(5\d{6})\b", ("{ticket}",), "5000000", again=_SHOW),
    Need("sku", r"\b([A-Z]{2}-\d{5})\b", ("{ticket}",), "XX-00000", again=_SHOW),
)
"""What the header of a ticket says."""
_AMOUNT = Need(
    "amount",
    r"\b(\d+\.\d\d)\b",
    ("{sku}", "price"),
    "10.00",
    again=_call("get_order", order="{order}"),
)


def _code(reason: str, kind: NeedKind) -> Need:
    return Need("code", r"\b(R-\d{3})\b", (reason,), "R-000", kind)


def _do(call: Call, *needs: Need) -> Move:
    """Return a move with the needs that its holes name, those of the header among them."""
    text = repr((call.arguments, [(one.near, one.again) for one in needs]))
    return Move(call, needs=(*(one for one in _SEEN if f"{{{one.name}}}" in text), *needs))


_FIND = _do(_call("find_customer", query="{name}"))
_ORDERS = _do(_call("list_orders", customer="{customer}"))
_RECORD = _do(_call("get_order", order="{order}"))


def _moves(ticket: Ticket) -> tuple[Move, ...]:
    """Return all moves of a ticket."""
    close = Move(_call("close_ticket", ticket="{ticket}"), needs=ticket.reply.needs[:1])
    return (*ticket.moves, ticket.reply, *[close] * ticket.is_closed)


def _aim(tool: str, **arguments: str) -> Aim:
    """Return what has to be done: the first argument says to what."""
    (key, value), *must = arguments.items()
    return Aim(f"{tool} {value}", tool, (key, value), dict(must))


class DeskWorld(Stage):
    """The database of a shop, with what was booked in it."""

    def __init__(self, shift: Shift) -> None:
        """Start with the database of the morning."""
        super().__init__("desk", shift.story)
        self._shift, self._words = shift, vocabulary()["desk"]
        self._tickets = {one.number: one for one in shift.tickets}
        self._clients = {one.client.number: one.client for one in shift.tickets}
        self._clients |= {one.number: one for one in shift.strangers}
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
        return Draw(f"{self._shift.codes} {what}")

    def _count(self, draw: Draw, low: int, high: int) -> int:
        return int(draw.randint(low, high) * self._shift.bulk)

    def do_list_tickets(self, page: int = 1) -> str:
        """Return the tickets of the day among those of yesterday."""
        draw = self._draw("tickets")
        topics = list(self._words["reasons"])
        rows = [
            (draw.number(5, "T-"), one, draw.one(topics), "new")
            for one in self._shift.strangers[: self._count(draw, 30, 70)]
        ]
        rows += [
            (one.number, one.client, one.gist, self._state(one.number))
            for one in self._shift.tickets[: self._shift.handed[self.round]]
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
        rows = [(name, tracking) for name, tracking in self._shift.lost.items()]
        rows += [
            (one.name, draw.number(10, "JD"))
            for one in self._shift.strangers[: self._count(draw, 70, 110)]
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
                3, f"The goodwill voucher of this quarter has the code {self._shift.voucher}."
            )
        if title == "teams":
            queues = self._shift.queues.items()
            parts += [f"Questions about {topic} go to queue {queue}." for topic, queue in queues]
        others = [name for name in ("returns", "shipping", "warranty", "accounts") if name != title]
        for other in draw.sample(others, min(3, round(1.5 * self._shift.bulk))):
            parts += [f"## See also: {other}", *self._words["articles"][other]]
        return "\n\n".join(parts)

    def extra(self, tool: str, key: str) -> Mapping[str, str]:
        """Return the credit note of a refund."""
        return {"note": self._note(key)} if tool == "refund" else {}

    def _note(self, order: str) -> str:
        return self._shift.notes.get(order) or self._draw(order).number(6, "CN-")

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
