"""A service desk: tickets of a shop by house rules of the morning; its database decides."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from foldaway.lab.play.desk_world import Client, Day, DeskWorld, Purchase, Ticket
from foldaway.lab.play.stage import Draw, Round, Story, vocabulary
from foldaway.lab.play.task import Move, Task

_STRANGERS = 260
"""Customers besides those of the tickets."""
_LIMITS = (90, 120, 150, 180, 220, 260, 300, 340)
_LONG_DAY = 90
"""Steps from which a day has both an address and a credit note that are needed again."""


def make(seed: int, number: int) -> Task:
    """Return a task of the desk."""
    draw = Draw(f"desk {seed} {number}")
    shift = _Shift(draw)
    shift.write()
    shop = draw.one(vocabulary()["desk"]["shops"])
    return shift.story.task(seed, number, lambda: DeskWorld(shift.story, shift.day), shop=shop)


class _Rules(Struct, frozen=True):
    """What is said in the morning; of two values the second replaces the first later."""

    codes: dict[str, str]
    """Of refunds, by reason."""
    reasons: list[str]
    limits: list[int]
    warehouses: list[str]
    approver: str
    claims: str


class _Errand(Struct, frozen=True):
    """A ticket, and how it is settled."""

    ticket: Ticket
    moves: tuple[Move, ...]


class _Shift:
    """A day of the desk while it is drawn."""

    def __init__(self, draw: Draw) -> None:
        self.draw, self.words = draw, vocabulary()["desk"]
        self.story = Story("desk")
        self.steps = int(64 * (380 / 64) ** draw.random())
        codes = {reason: draw.number(3, "R-") for reason in self.words["reasons"]}
        self.rules = _Rules(
            codes,
            draw.sample(list(codes), len(codes)),
            draw.sample(_LIMITS, 2),
            [draw.once(self._warehouse) for _ in range(2)],
            draw.person(),
            f"CF-{draw.number(4)}-{draw.one('KLMPRT')}",
        )
        self.day = Day(
            # shorter results in long tasks, so that not all of them are large
            bulk=draw.uniform(1.8, 2.9) * (150 / self.steps) ** 0.25,
            voucher=f"GW-{draw.code(6).upper()}",
            queues={topic: draw.number(2, "Q-") for topic in self.words["topics"]},
            strangers=[self._client() for _ in range(_STRANGERS)],
            tickets=[],
            handed=[],
            notes={},
            lost={},
        )

    def write(self) -> None:
        """Draw the tickets and put them into batches, with what is reversed between them."""
        early, late, last, changes = self._far()
        taken = sum(len(one.moves) for one in (*early, *late, *last)) + 8
        small: list[_Errand] = []
        while taken < self.steps:
            small.append(self._small())
            taken += len(small[-1].moves)
        first, second = len(small) // 5, 2 * len(small) // 5
        before, after = [*early, *small[:first]], [*late, *small[second:]]
        self.draw.shuffle(before)
        self.draw.shuffle(after)
        # what was reversed is needed last, far from the change
        after[len(after) - len(after) // 5 :] += last
        self._batch(before)
        self._batch(small[first:second])
        self._batch(after, changes)

    def _far(self) -> tuple[list[_Errand], list[_Errand], list[_Errand], str]:
        """Return the tickets that need what was said long before, and what is reversed."""
        draw, words = self.draw, self.words
        early: list[_Errand] = []
        late, last = [self._refund(2), self._lost()], [self._limited()]
        changes = draw.one(words["limit_changed"]).format(limit=f"{self.rules.limits[1]}.00")
        with_credit = draw.random() < 0.5
        if self.steps > _LONG_DAY or with_credit:
            first, second = self._credit()
            early.append(first)
            late.append(second)
        if self.steps > _LONG_DAY or not with_credit:
            first, second = self._moved()
            early.append(first)
            last.append(second)
            changed = draw.one(words["warehouse_changed"])
            changes += "\n" + changed.format(warehouse=self.rules.warehouses[1])
        more = [self._voucher, lambda: self._refund(3), lambda: self._refund(4), self._lost]
        draw.shuffle(more)
        late += [add() for add in more[: (self.steps - 60) // 30]]
        return early, late, last, changes

    def _batch(self, errands: Sequence[_Errand], preface: str = "") -> None:
        """Hand the tickets over, one to four at a time."""
        draw, story, at = self.draw, self.story, 0
        while at < len(errands):
            some = errands[at : at + draw.randint(1, 4)]
            at += len(some)
            batch = "\n".join(
                f"- {one.ticket.number} {one.ticket.client.name}: {one.ticket.gist}" for one in some
            )
            if story.rounds:
                says = draw.one(self.words["batches"]).format(batch=batch)
            else:
                says = self._handover(batch)
                lines = ("shipment_list", "read_article title=goodwill", "list_tickets")
                story.script += [story.move(line) for line in lines]
            story.rounds.append(Round(f"{preface}\n\n{says}".strip(), {"close_ticket", "assign"}))
            preface = ""
            for one in some:
                self.day.tickets.append(one.ticket)
                story.script += one.moves
            self.day.handed.append(len(self.day.tickets))
            story.script.append(Move(text=draw.one(self.words["done"])))

    def _handover(self, batch: str) -> str:
        """Return the first message: the house rules."""
        rules = self.rules
        return self.words["handover"].format(
            greeting=self.draw.one(self.words["greetings"]),
            codes="\n".join(f"- {reason}: {code}" for reason, code in rules.codes.items()),
            limit=f"{rules.limits[0]}.00",
            approver=rules.approver,
            warehouse=rules.warehouses[0],
            claims=rules.claims,
            batch=batch,
        )

    def _warehouse(self) -> str:
        city = self.draw.one(vocabulary()["people"]["cities"])
        return f"{city[:3].upper()}{self.draw.randint(2, 9)}"

    def _address(self) -> str:
        people, draw = vocabulary()["people"], self.draw
        street, number = draw.one(people["streets"]), draw.number(3)
        return f"{street} {number}, 0{draw.number(4)} {draw.one(people['cities'])}"

    def _client(self, price: int = 0) -> Client:
        draw, name = self.draw, self.draw.person()
        mail = f"{name.lower().replace(' ', '.')}@{draw.one(['mailbox', 'postfach'])}.example"
        bought = [self._purchase(price) for _ in range(draw.randint(3, 9))]
        bought.sort(key=lambda one: one.day)
        return Client(draw.number(5, "C-"), name, mail, self._address(), tuple(bought))

    def _purchase(self, price: int) -> Purchase:
        """Return an order whose first item has a price, or one that no limit stops."""
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
                    f"{one}.{draw.one(['49', '90', '95', '99'])}",
                )
                for one in prices
            ),
        )

    def _small(self) -> _Errand:
        """Return a ticket that needs nothing from before."""
        draw, client = self.draw, self._client()
        kind = draw.one(["where", "where", "invoice", "email", "assign"])
        find, orders = "find_customer query={name}", "list_orders customer={customer}"
        if kind == "email":
            email = f"{client.name.split()[0].lower()}{draw.number(3)}@mail.example"
            self.story.want("update_customer", customer=client.number, field="email", value=email)
            change = "update_customer customer={customer} field=email value={email}"
            return self._errand(kind, client, (find, change), email=email)
        if kind == "assign":
            topic = draw.one(self.words["topics"])
            lines = "read_article title=teams", "assign ticket={ticket} queue={queue}"
            errand = self._errand(kind, client, lines, is_closed=False, topic=topic)
            queue = self.day.queues[topic]
            self.story.want("assign", ticket=errand.ticket.number, queue=queue)
            return errand
        look = (find, orders, "get_order order={order}") if kind == "where" else (find, orders)
        return self._errand(kind, client, look)

    def _refund(self, reason: int) -> _Errand:
        """Return a refund whose reason code was said in the morning."""
        client = self._client()
        return self._refunding("refund", client, client.purchases[0], reason)

    def _refunding(
        self, kind: str, client: Client, order: Purchase, at: int, near: Collection[str] = ()
    ) -> _Errand:
        reason, price = self.rules.reasons[at], order.items[0][2]
        code = self.rules.codes[reason]
        self.story.want("refund", order=order.number, amount=price, code=code)
        lines = (*_LOOK, "refund order={order} amount={amount} code={code}")
        return self._errand(kind, client, lines, order, near=near, reason=reason)

    def _credit(self) -> tuple[_Errand, _Errand]:
        """Return a refund early, and the use of its credit note for another order late."""
        client = self._client()
        order, other = client.purchases[0], client.purchases[-1]
        note = self.day.notes[order.number] = self.draw.number(6, "CN-")
        first = self._refunding("credit_early", client, order, 0, near=("code",))
        self.story.want("apply_credit", order=other.number, credit_note=note)
        lines = (*_LOOK[:2], "apply_credit order={order} credit_note={note}")
        return first, self._errand("credit", client, lines, other, past=order.number)

    def _moved(self) -> tuple[_Errand, _Errand]:
        """Return a change of address early, and a parcel that is sent again to it late."""
        client, address = self._client(), self._address()
        order, place = client.purchases[0], self.rules.warehouses[1]
        want = self.story.want
        want("update_customer", customer=client.number, field="address", value=address)
        change = "update_customer customer={customer} field=address value={moved}"
        first = self._errand("address", client, (_LOOK[0], change), order, address=address)
        want("resend", order=order.number, warehouse=place, address=address)
        lines = (*_LOOK, "resend order={order} warehouse={warehouse} address={address}")
        return first, self._errand("resend", client, lines, order)

    def _limited(self) -> _Errand:
        """Return a refund between the two limits: the old one says the opposite."""
        rules, want = self.rules, self.story.want
        client = self._client(self.draw.randint(min(rules.limits) + 3, max(rules.limits) - 3))
        order, reason = client.purchases[0], rules.reasons[1]
        price, is_ours = order.items[0][2], rules.limits[0] < rules.limits[1]
        if is_ours:
            want("refund", order=order.number, amount=price, code=rules.codes[reason])
        else:
            want("request_approval", order=order.number, amount=price, approver=rules.approver)
        move = self.story.move(
            "request_approval order={order} amount={amount} approver={approver}",
            otherwise="refund order={order} amount={amount} code={code}",
            above=("amount", "limit"),
            near=("approver",) if is_ours else ("code",),
            words={"who": client.name, "reason": reason},
        )
        return self._errand("refund", client, (*_LOOK, move), order, reason=reason)

    def _lost(self) -> _Errand:
        """Return a lost parcel: its number was seen once, in the list of the morning."""
        client = self._client()
        order, tracking = client.purchases[0], self.draw.number(10, "JD")
        self.day.lost[client.name] = tracking
        self.story.want("report_loss", order=order.number, tracking=tracking)
        lines = (*_LOOK[:2], "report_loss order={order} tracking={tracking}")
        errand = self._errand("lost", client, lines, order, claims="\nOur claims file: {claims}")
        number, claims = errand.ticket.number, self.rules.claims
        self.story.want("reply", is_part=True, ticket=number, text=claims)
        return errand

    def _voucher(self) -> _Errand:
        """Return a case of goodwill: the code was in an article that was read in the morning."""
        client = self._client()
        self.story.want("give_voucher", customer=client.number, code=self.day.voucher)
        lines = (_LOOK[0], "give_voucher customer={customer} code={voucher}")
        return self._errand("voucher", client, lines)

    def _errand(
        self,
        kind: str,
        client: Client,
        lines: Sequence[str | Move],
        order: Purchase | None = None,
        *,
        is_closed: bool = True,
        near: Collection[str] = (),
        claims: str = "",
        **facts: str,
    ) -> _Errand:
        """Return a ticket of a kind: looking at it, what it needs, the reply, and closing it."""
        draw, words, order = self.draw, self.words, order or client.purchases[0]
        letter = (
            draw.one(words["letters"][kind]).format(**facts) if kind in words["letters"] else ""
        )
        if "reason" in facts:
            wish = draw.one(words["reasons"][facts["reason"]]).format(item=order.items[0][1])
            letter = f"{wish}. {letter or 'I want my money back'}"
        gist = words["gists"][kind].format(**facts)
        ticket = Ticket(draw.number(5, "T-"), client, order, gist, letter)
        text = draw.one(words["prose"]["replies"]).format(first=client.name.split()[0]) + claims
        known = facts | {"who": client.name}

        move = self.story.move
        moves = [move("get_ticket ticket={ticket}", draw.one(words["thinking"]), words=known)]
        for line in lines:
            moves.append(line if isinstance(line, Move) else move(line, near=near, words=known))
        moves.append(move("reply ticket={ticket}", long={"text": text}, words=known))
        if is_closed:
            moves.append(move("close_ticket ticket={ticket}", words=known))
            self.story.want("close_ticket", ticket=ticket.number)
        return _Errand(ticket, tuple(moves))


_LOOK = ("find_customer query={name}", "list_orders customer={customer}", "get_order order={order}")
