"""What a target of snapshots must be (autocdc.md §8.1, §9.1), snapshot by snapshot, written from the specification alone.

Values are compared as Python's; None is NULL. check_reference() holds a series without statements against a second model."""


class Target:
    """places: without WITH VERSION, where a snapshot that changes nothing has no version."""

    def __init__(self, keys, scd, tracks=lambda column: True, places=False):
        self.keys, self.scd, self.tracks, self.places = keys, scd, tracks, places
        self.rows, self.columns, self.last = [], [], None

    def key(self, row):
        return tuple(row[k] for k in self.keys)

    def open_rows(self):
        return [row for row in self.rows if self.scd == 1 or row["__END_AT"] is None]

    def values(self, row):
        return {c: row.get(c) for c in self.columns if c not in self.keys}

    def snapshot(self, version, rows, columns):
        """Returns (what became of it, rows inserted or updated, rows removed)."""
        if self.last is not None and version <= self.last:
            return "skipped", 0, 0
        if self.last is None:
            self.columns = []  # a target without a version has no history of columns either
        self.columns += [c for c in columns if c not in self.columns]
        before = {self.key(row): row for row in self.open_rows()}
        now = {self.key(row): row for row in rows}
        upserted = deleted = 0
        for key, row in now.items():
            old = before.get(key)
            if old is None:
                self.rows.append(self.made(row, version))
                upserted += 1
            elif self.values(old) != self.values(row):
                upserted += self.change(old, row, version)
        for key, old in before.items():
            if key in now:
                continue
            if self.scd == 1:
                self.rows = [row for row in self.rows if row is not old]
                deleted += 1
            else:
                old["__END_AT"] = version
                upserted += 1
        if self.places and upserted + deleted == 0:
            return "unchanged", 0, 0
        self.last = version
        return "processed", upserted, deleted

    def made(self, row, version):
        made = {k: row[k] for k in self.keys} | self.values(row)
        return made | ({"__START_AT": version, "__END_AT": None} if self.scd == 2 else {})

    def change(self, old, row, version):
        """Returns how many rows are written for it."""
        values = self.values(row)
        if self.scd == 1 or all(old.get(c) == v for c, v in values.items() if self.tracks(c)):
            old.update(values)
            return 1
        old["__END_AT"] = version
        self.rows.append(self.made(row, version))
        return 2


def check_reference(reference, keys, scd, track, track_except, series, target):
    """series: [(version, rows)] in order of arrival; columns that a snapshot lacks are NULL."""
    columns = [c for c in target.columns]
    filled = [(version, [{c: row.get(c) for c in columns} for row in rows]) for version, rows in series]
    wanted, _ = reference.snapshot_flow(keys, filled, scd, track, track_except)
    names = columns + (["__START_AT", "__END_AT"] if scd == 2 else [])

    def plain(rows):
        return sorted(repr([row.get(c) for c in names]) for row in rows)
    assert plain(wanted) == plain(target.rows), (series, plain(wanted), plain(target.rows))
