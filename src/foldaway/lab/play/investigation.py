"""An investigation over logs and documents: the answers and the report decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from foldaway.lab.play.stage import Draw, Round, Stage, Story, vocabulary
from foldaway.lab.play.task import Move, Task

_DAY_SECONDS = 86_400
_ACTS = ("answer", "set_field", "preserve", "release", "classify", "submit_report")


def make(seed: int, number: int) -> Task:
    """Return a task of the investigation."""
    inquiry = _Inquiry(Draw(f"investigation {seed} {number}"))
    inquiry.write()
    shop = inquiry.draw.one(vocabulary()["investigation"]["shops"])
    story, archive = inquiry.story, inquiry.archive
    return story.task(seed, number, lambda: InquiryWorld(story, archive), shop=shop)


class _Plant(Struct, frozen=True):
    """A line of a log that a question is about."""

    log: str
    line: int
    phrase: str
    host: str
    request: str


class _Question(Struct, frozen=True):
    """What is asked, and how it is settled."""

    text: str
    moves: tuple[Move, ...]


class _Archive(Struct, kw_only=True):
    """The material of an investigation."""

    key: str
    bulk: float
    """How long results are."""
    logs: dict[str, int]
    """The number of lines of each log."""
    hosts: list[str]
    plants: dict[tuple[str, int], _Plant]
    tables: dict[str, dict[str, str]]
    """The rows of the documents that are tables: names and their values."""
    vendors: dict[str, str]
    """The case of the vendor in each thread."""
    evidence: dict[str, str]
    """The number that each log gets in the evidence store."""
    drawn: dict[str, list[str]]
    """The lines of logs that were read before."""

    def lines(self, log: str) -> list[str]:
        """Return the lines of a log; the same ones each time."""
        if log not in self.drawn:
            draw, words = Draw(f"{self.key} {log}"), vocabulary()["investigation"]
            self.drawn[log] = [
                self._line(draw, words, log, at) for at in range(1, self.logs[log] + 1)
            ]
        return self.drawn[log]

    def _line(self, draw: Draw, words: Mapping[str, Sequence[str]], log: str, at: int) -> str:
        seconds = at * _DAY_SECONDS // (self.logs[log] + 1)
        time = (
            f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{at * 377 % 1000:03}"
        )
        host, request, chance = draw.one(self.hosts), f"{draw.getrandbits(40):010x}", draw.random()
        level = "ERROR" if chance < 0.04 else "WARN" if chance < 0.12 else "INFO"
        text = draw.one(words["errors"] if level == "ERROR" else words["noise"])
        plant = self.plants.get((log, at))
        if plant is not None:
            host, request, level, text = plant.host, plant.request, "WARN", plant.phrase
        took = f"{draw.randrange(2, 900)}ms"
        service = log.partition("-")[0]
        return (
            f'2026-05-18T{time}Z {host} {service}: level={level} req={request} msg="{text}" {took}'
        )


class _Inquiry:
    """An investigation while it is drawn."""

    def __init__(self, draw: Draw) -> None:
        self.draw, self.words = draw, vocabulary()["investigation"]
        self.story = Story("investigation")
        self.steps = int(62 * (385 / 62) ** draw.random())
        services, people = self.words["services"], draw.person
        logs = [f"{draw.one(services)}-{at}.log" for at in range(1, draw.randint(8, 14))]
        hosts = [draw.once(self._host) for _ in range(70)]
        self.archive = _Archive(
            key=draw.code(10),
            bulk=draw.uniform(0.5, 0.85) * (150 / self.steps) ** 0.6,
            logs={log: draw.randint(600, 1500) for log in logs},
            hosts=hosts,
            plants={},
            tables={
                "assets": {host: draw.number(6, "AT-") for host in hosts},
                "changes": {draw.number(4, "CHG-"): people() for _ in range(80)},
                "roster": {service: people() for service in services},
                "runbook": {alert: draw.number(3, "RB-") for alert in self.words["alerts"]},
            },
            vendors={},
            evidence={log: draw.number(5, "EV-") for log in logs},
            drawn={},
        )
        self.phrases = [f"{fault} {one}" for fault in self.words["faults"] for one in services]
        draw.shuffle(self.phrases)
        self.asked = 0

    def write(self) -> None:
        """Draw the questions and put them into messages, with what is corrected between them."""
        draw, story, logs = self.draw, self.story, list(self.archive.logs)
        first, second = draw.sample(logs, 2)
        labels = [draw.number(4, "LH-") for _ in range(2)]
        hours = draw.sample(range(2, 20), 2)
        windows = [f"{hour:02}:{draw.one(['10', '25', '40', '50'])}" for hour in hours]
        case, recipient = f"IR-{draw.number(4)}-{draw.number(3)}", draw.person()
        classes = {impact: draw.number(3, "K-") for impact in self.words["classes"]}
        plant = self._plant()
        start = max(1, plant.line - draw.randint(20, 80))
        opening = self.words["opening"].format(
            case=case,
            label=labels[0],
            since=windows[0],
            recipient=recipient,
            classes="\n".join(f"- {impact}: {code}" for impact, code in classes.items()),
            file=first,
            log=plant.log,
            start=start,
            phrase=plant.phrase,
            questions="{questions}",
        )
        story.script += [
            story.move("read_document name=assets"),
            story.move("read_document name=changes"),
            story.move(f"preserve file={first} label={{label}}", near=("label",)),
            story.move(f"read_log file={plant.log} start={start}"),
        ]
        story.want("preserve", file=first, label=labels[0])
        small: list[_Question] = []
        taken = 4.0 + 9 + 6
        while taken < self.steps:
            small.append(self._small())
            taken += len(small[-1].moves) + 0.5
        far = [
            self._classify(*draw.choice(list(classes.items()))),
            self._table("asset", "node", "assets", "Asset tag of {node} into the report, please."),
            self._table(
                "changer", "change", "changes", "In the report the person is who did {change}."
            ),
            self._seen(plant, start),
            self._release(first, recipient),
        ]
        last = [
            self._preserve(second, labels[1]),
            self._count(draw.one(logs), windows[1]),
            self._submit(case),
        ]
        changed = draw.one(self.words["changed"]).format(label=labels[1], since=windows[1])
        cut, end = max(1, len(small) * 3 // 10), len(small) * 3 // 4
        late = [*small[end:], *far]
        draw.shuffle(late)
        self._ask(small[:cut], opening)
        self._ask(small[cut:end], f"{changed}\n\n{{questions}}")
        self._ask([*late, *last])

    def _ask(self, questions: Sequence[_Question], first: str = "") -> None:
        """Send the questions, one to four at a time."""
        draw, at = self.draw, 0
        while at < len(questions):
            some = questions[at : at + draw.randint(1, 4)]
            at += len(some)
            says = first or draw.one(self.words["rounds"])
            first = ""
            asked = "\n".join(f"- {one.text}" for one in some)
            self.story.rounds.append(Round(says.replace("{questions}", asked), _ACTS))
            for one in some:
                self.story.script += one.moves
            self.story.script.append(Move(text=draw.one(self.words["done"])))

    def _host(self) -> str:
        site = self.draw.one(["ord", "fra", "ams", "iad", "sin"])
        return f"{site}-{self.draw.randint(10, 99)}{self.draw.one('abcd')}"

    def _label(self) -> str:
        self.asked += 1
        return f"Q{self.asked}"

    def _plant(self) -> _Plant:
        """Put a line into a log, with a fault that comes once only."""
        draw, archive = self.draw, self.archive
        # the log of the first one is not shown again
        shown = [one for one, _ in list(archive.plants)[:1]]
        log = draw.one([one for one in archive.logs if one not in shown])
        line = draw.randint(100, archive.logs[log] - 100)
        while (log, line) in archive.plants:
            line += 1
        one = _Plant(log, line, self.phrases.pop(), draw.one(archive.hosts), draw.code(10))
        archive.plants[log, line] = one
        return one

    def _moves(self, *lines: str, pattern: str = "", **words: str) -> tuple[Move, ...]:
        """Return the moves of lines; the first one looks for a pattern if there is one."""
        draw, move = self.draw, self.story.move
        return tuple(
            move(
                line,
                draw.one(self.words["thinking"]),
                long={"pattern": pattern} if line.startswith("grep") else None,
                words=words,
            )
            for line in lines
        )

    def _small(self) -> _Question:
        """Return a question that needs nothing from before."""
        draw, label = self.draw, self._label()
        kind = draw.one(["grep", "grep", "host", "read", "oncall", "runbook", "thread"])
        answer = f"answer question={label} value="
        if kind == "oncall":
            service, person = draw.choice(list(self.archive.tables["roster"].items()))
            text, value = f"who was on call for {service}?", person
            moves = self._moves("read_document name=roster", answer + "{oncall}", service=service)
        elif kind == "runbook":
            alert, value = draw.choice(list(self.archive.tables["runbook"].items()))
            text = f"which step does the runbook name for {alert}?"
            moves = self._moves("read_document name=runbook", answer + "{step}", alert=alert)
        elif kind == "thread":
            name, topic, value = f"thread-{label[1:]}", self.phrases.pop(), draw.number(5, "VC-")
            self.archive.vendors[name] = f'The vendor case for "{topic}" is {value}.'
            text = f'what is the vendor case for "{topic}"? It\'s in {name}.'
            moves = self._moves(f"read_document name={name}", answer + "{vendor}", topic=topic)
        else:
            one = self._plant()
            hole = "{host}" if kind == "host" else "{request}"
            text = f'{one.log} has "{one.phrase}" once. Which {hole[1:-1]} was that?'
            value = one.host if kind == "host" else one.request
            look = [f"grep file={one.log}"]
            if kind == "read":
                start = max(1, one.line - draw.randint(100, 170))
                text = f'in {one.log} from line {start} on, which request got "{one.phrase}"?'
                look = [f"read_log file={one.log} start={at}" for at in (start, start + 90)]
            moves = self._moves(*look, answer + hole, pattern=one.phrase, phrase=one.phrase)
        self.story.want("answer", question=label, value=value)
        return _Question(f"{label}: {text}", moves)

    def _classify(self, impact: str, code: str) -> _Question:
        label = self._label()
        self.story.want("classify", question=label, impact_class=code)
        moves = self._moves(f"classify question={label} impact_class={{class}}", impact=impact)
        return _Question(f"{label}: classify it please, it's a case of {impact}.", moves)

    def _table(self, need: str, row: str, table: str, text: str) -> _Question:
        """Return a field of the report from a table that was read in the beginning."""
        name, value = self.draw.choice(list(self.archive.tables[table].items()))
        field = {"asset": "asset", "changer": "person"}[need]
        self.story.want("set_field", field=field, value=value)
        moves = self._moves(f"set_field field={field} value={{{need}}}", **{row: name})
        return _Question(text.format(**{row: name}), moves)

    def _seen(self, plant: _Plant, start: int) -> _Question:
        self.story.want("set_field", field="request", value=plant.request)
        moves = self._moves(
            "set_field field=request value={seen}",
            phrase=plant.phrase,
            log=plant.log,
            start=str(start),
        )
        return _Question(f'The request of the report is the one that got "{plant.phrase}".', moves)

    def _release(self, file: str, recipient: str) -> _Question:
        number = self.archive.evidence[file]
        self.story.want("release", evidence=number, person=recipient)
        moves = self._moves("release evidence={evidence} person={recipient}", file=file)
        return _Question(f"Release what you preserved of {file}.", moves)

    def _preserve(self, file: str, label: str) -> _Question:
        self.story.want("preserve", file=file, label=label)
        moves = self._moves(f"preserve file={file} label={{label}}")
        return _Question(f"Preserve {file} too, please.", moves)

    def _count(self, log: str, since: str) -> _Question:
        times = [line[11:16] for line in self.archive.lines(log) if "level=ERROR" in line]
        count = str(sum(time >= since for time in times))
        self.story.want("set_field", field="count", value=count)
        lines = (
            f"count file={log} pattern=level=ERROR since={{since}}",
            "set_field field=count value={lines}",
        )
        text = f'For the count: how many lines with "level=ERROR" has {log} in the window?'
        return _Question(text, self._moves(*lines, log=log))

    def _submit(self, case: str) -> _Question:
        self.story.want("submit_report", case=case)
        return _Question("Then submit the report.", self._moves("submit_report case={case}"))


class InquiryWorld(Stage):
    """The material of an investigation, and what was answered and filed."""

    def __init__(self, story: Story, archive: _Archive) -> None:
        """Start with nothing filed."""
        super().__init__(story)
        self._archive, self._words = archive, vocabulary()["investigation"]
        self.known = {"file": archive.logs.keys()}

    def extra(self, tool: str, key: str) -> Mapping[str, str]:
        """Return the number of what is preserved."""
        return {"number": self._archive.evidence[key]} if tool == "preserve" else {}

    def _draw(self, what: str) -> Draw:
        return Draw(f"{self._archive.key} {what}")

    def do_list_files(self) -> str:
        """Return the logs."""
        return "\n".join(
            f"{count * 118:>8}  2026-05-19 00:00  {count:>5} lines  {log}"
            for log, count in self._archive.logs.items()
        )

    def do_read_log(self, file: str, start: int, lines: int = 90) -> str:
        """Return lines of a log with their numbers."""
        first = max(0, start - 1)
        shown = self._archive.lines(file)[first : first + max(1, min(lines, 240))]
        return (
            "\n".join(f"{first + at}: {line}" for at, line in enumerate(shown, 1))
            or f"{file} ends before line {start}"
        )

    def do_grep(self, file: str, pattern: str) -> str:
        """Return the lines with a text and those around them."""
        lines = self._archive.lines(file)
        found = [at for at, line in enumerate(lines) if pattern in line][:12]
        if not found:
            return f"no line of {file} has {pattern[:80]!r}"
        around = self._draw(pattern).randint(4, int(6 + 14 * self._archive.bulk))
        parts = [
            "\n".join(
                f"{at + 1}{':' if at == hit else '-'} {lines[at]}"
                for at in range(max(0, hit - around), min(len(lines), hit + around))
            )
            for hit in found
        ]
        return "\n--\n".join(parts)

    def do_count(self, file: str, pattern: str, since: str) -> str:
        """Return how many lines have a text."""
        lines = self._archive.lines(file)
        count = sum(pattern in line and line[11:16] >= since for line in lines)
        return f"{count} lines match {pattern[:80]!r} in {file} since {since[:20]}"

    def do_read_document(self, name: str) -> str:
        """Return a document: a table, the runbook, or a thread of mails."""
        archive, draw = self._archive, self._draw(name)
        if name in archive.vendors:
            return self._thread(draw, name)
        rows = archive.tables.get(name)
        if rows is None:
            known = ", ".join([*archive.tables, *archive.vendors])
            return f"Error: no document {name[:40]!r}. Documents: {known}"
        if name == "runbook":
            lines = [
                f"## {alert}\n{draw.said(self._words['prose']['runbook'], 2, 5)} "
                f"If {alert} goes on, do {step} of the appendix."
                for alert, step in rows.items()
            ]
            return "\n\n".join(["# Runbook", *lines])
        lines = [f"# {name.capitalize()}, as of 2026-05-17", ""]
        for row, value in rows.items():
            kinds, day = self._words["columns"][name], draw.randint(10, 17)
            lines.append(f"{row:<10}  {value:<22}  2026-05-{day}  {draw.one(kinds)}")
        return "\n".join(lines)

    def _thread(self, draw: Draw, name: str) -> str:
        """Return mails, one of them with the case of the vendor."""
        prose, count = (
            self._words["prose"]["mail"],
            draw.randint(3, 4 + int(5 * self._archive.bulk)),
        )
        mails = [draw.said(prose, 4, 10) for _ in range(count)]
        at = draw.randrange(count)
        mails[at] += " " + self._archive.vendors[name]
        return "\n\n".join(
            f"From: {draw.person()}\nDate: 2026-05-18 {3 + number:02}:{draw.randint(10, 59)}\n"
            f"Subject: Re: {name}\n\n{mail}"
            for number, mail in enumerate(mails)
        )

    def do_list_evidence(self) -> str:
        """Return the evidence store with what other cases left in it."""
        draw, lines = self._draw("evidence"), ["number    label    file"]
        for _ in range(60):
            file = f"{draw.one(self._words['services'])}-{draw.randint(20, 90)}.log"
            lines.append(f"{draw.number(5, 'EV-')}  {draw.number(4, 'LH-')}  {file}")
        lines += [
            f"{self._archive.evidence[file]}  {booked['label']}  {file}"
            for (tool, file), booked in self.booked.items()
            if tool == "preserve"
        ]
        return "\n".join(lines)
