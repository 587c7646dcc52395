#!/usr/bin/env python3
"""Change events of a customer directory, as JSON files in drops: the input of this example.

Deterministic: the same arguments give the same bytes. Each drop is what a source system delivered in one night:

  DIR/drop-1/customers-1-0001.json …   one JSON object a line:
      id, name, email, city, address, operation (APPEND, UPDATE, DELETE), operation_date; from the last drop on also phone

What makes it like real life:
  late        an event comes one drop after its time, when newer events of its customer were already delivered
  duplicate   an event is delivered twice, in the same drop or in the next one
  delete      a customer leaves; some come back
  bad         no id; an operation that does not exist; an address that is an object instead of a text; no address
"""
import argparse
import json
import pathlib
import random

FIRST = "Aiko Ben Chidi Dana Elif Farid Grace Hugo Ines Jun Kofi Lena Mei Nuno Olga Pablo Quinn Rosa Samir Tess".split()
LAST = "Abe Berg Costa Diaz Endo Fox Garcia Haas Ito Jones Kim Lopez Mensah Novak Okafor Patel Rossi Silva Tanaka Weber".split()
CITIES = "Bergen Bogota Dakar Delhi Graz Hanoi Kyoto Lagos Leeds Lima Lyon Nara Osaka Porto Quito Riga Seoul Turin Utrecht Yerevan".split()
STREETS = "Oak Elm Lake Hill Mill Park River Station Church Garden".split()
FILE_EVENTS = 12_500  # events in one file


class Generator:
    def __init__(self, customers, events, drops, seed):
        self.customers, self.events, self.drops = customers, events, drops
        self.random = random.Random(seed)
        self.alive = {}  # id → [name, email, city, address, phone or None]
        self.ids = []  # ids ever given out; may name customers that left
        self.out = [[] for _ in range(drops)]
        self.kinds = {"APPEND": 0, "UPDATE": 0, "DELETE": 0, "late": 0, "duplicate": 0, "bad": 0}

    def pick(self, items):
        return items[int(self.random.random() * len(items))]

    def new_customer(self, number):
        first, last = self.pick(FIRST), self.pick(LAST)
        return [f"{first} {last}", f"{first}.{last}.{number}@example.org".lower(), self.pick(CITIES), self.address(), None]

    def address(self):
        return f"{1 + int(self.random.random() * 200)} {self.pick(STREETS)} Street"

    def change(self, customer, last_drop):
        what = self.random.random()
        if what < 0.45:
            customer[2], customer[3] = self.pick(CITIES), self.address()
        elif what < 0.75:
            customer[3] = self.address() if self.random.random() < 0.98 else None
        elif what < 0.9 or not last_drop:
            customer[1] = customer[1].replace("@example.org", "@example.net")
        if last_drop:
            customer[4] = f"+00 {int(self.random.random() * 1e9):09d}"

    @staticmethod
    def time_text(index):
        second = index * 2
        day, second = divmod(second, 86400)
        return f"2026-01-{1 + day:02d}T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z"

    def event(self, number, customer, operation, index):
        event = {"id": number}
        if customer is not None:
            event.update(zip(("name", "email", "city", "address"), customer))
            if customer[4] is not None:
                event["phone"] = customer[4]
        event["operation"] = operation
        event["operation_date"] = self.time_text(index)
        return event

    def deliver(self, drop, event):
        if self.random.random() < 0.03 and drop + 1 < self.drops:
            drop += 1
            self.kinds["late"] += 1
        text = json.dumps(event, separators=(",", ":"))
        self.out[drop].append(text)
        if self.random.random() < 0.02:
            self.out[min(drop + int(self.random.random() * 2), self.drops - 1)].append(text)
            self.kinds["duplicate"] += 1

    def deliver_bad(self, drop, index):
        event = self.event(None, self.new_customer(0), "APPEND", index)
        kind = index % 3
        if kind == 1:
            event.update(id=self.pick(self.ids), operation="UPSERT")
        elif kind == 2:
            event.update(id=self.pick(self.ids), operation="UPDATE", address={"street": "Oak Street", "number": 7})
        self.out[drop].append(json.dumps(event, separators=(",", ":")))
        self.kinds["bad"] += 1

    def step(self, index):
        drop = min(index * self.drops // self.events, self.drops - 1)
        last_drop = drop == self.drops - 1
        n_new = len(self.ids)
        # Most customers come early: the share of new ones falls from drop to drop.
        wanted = self.customers * (1 - (1 - (index + 1) / self.events) ** 2)
        if n_new < wanted:
            number = n_new + 1
            self.ids.append(number)
            self.alive[number] = self.new_customer(number)
            self.kinds["APPEND"] += 1
            self.deliver(drop, self.event(number, self.alive[number], "APPEND", index))
            return
        if self.random.random() < 0.008:
            self.deliver_bad(drop, index)
            return
        number = self.pick(self.ids)
        if number not in self.alive:  # comes back
            self.alive[number] = self.new_customer(number)
            operation = "APPEND"
        elif self.random.random() < 0.07:
            del self.alive[number]
            operation = "DELETE"
        else:
            self.change(self.alive[number], last_drop)
            operation = "UPDATE"
        self.kinds[operation] += 1
        self.deliver(drop, self.event(number, self.alive.get(number), operation, index))

    def run(self):
        for index in range(self.events):
            self.step(index)

    def write(self, directory):
        for drop, lines in enumerate(self.out, 1):
            target = directory / f"drop-{drop}"
            target.mkdir(parents=True, exist_ok=True)
            for old in target.glob("*.json"):
                old.unlink()
            for n, start in enumerate(range(0, len(lines), FILE_EVENTS), 1):
                (target / f"customers-{drop}-{n:04d}.json").write_text("\n".join(lines[start : start + FILE_EVENTS]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=pathlib.Path, help="where the drops are written")
    parser.add_argument("--customers", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=250_000)
    parser.add_argument("--drops", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--small", action="store_true", help="1,000 customers, 2,500 events")
    options = parser.parse_args()
    if options.small:
        options.customers, options.events = 1_000, 2_500
    generator = Generator(options.customers, options.events, options.drops, options.seed)
    generator.run()
    generator.write(options.directory)
    counts = ", ".join(f"{count:,} {kind}" for kind, count in generator.kinds.items())
    delivered = sum(len(lines) for lines in generator.out)
    print(f"{delivered:,} events of {len(generator.ids):,} customers in {options.drops} drops ({counts})")


if __name__ == "__main__":
    main()
