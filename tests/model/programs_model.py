"""A table and its history as plain values: what random programs of statements must leave, written from the specification (cdf.md).

Every row has a `uid` that no other row ever has and that no statement changes, so that the model can tell rows apart without knowing how
an engine numbers them. Columns have ids that renaming keeps. A value is None, int, float, bool, str or a dict (struct).
"""
import dataclasses
import time
import typing


@dataclasses.dataclass(frozen=True)
class Generation:
    """GENERATED ALWAYS AS (@sql), which is @of the values of a row and reads the column with the id @reads."""
    sql: str
    of: typing.Callable
    reads: object


@dataclasses.dataclass(frozen=True)
class Column:
    id: object  # an int; "uid" of the column that holds it
    name: str
    type: str
    not_null: bool = False
    default: object = None  # a value; None: NULL, as without DEFAULT
    generation: Generation | None = None
    era: int = 0  # with column mapping, a table that is replaced has other columns, though their names are the same

    def is_read_as(self, reader):
        """Whether rows of this column can be read as rows of @reader (cdf.md §6.3): it may be relaxed, not tightened."""
        return (self.id, self.name, self.type, self.era) == (reader.id, reader.name, reader.type, reader.era) and self.not_null >= reader.not_null


@dataclasses.dataclass(frozen=True)
class Row:
    values: dict  # column id → value; a missing id is NULL
    changed_at: int | None  # the version that inserted or last updated it; None: rows got their ids later, and it is not known yet when
    life: int = 0  # another one has another row id


@dataclasses.dataclass(frozen=True)
class Change:
    type: str  # insert, delete, update_preimage, update_postimage
    uid: int
    values: dict
    life: int = 0


@dataclasses.dataclass(frozen=True)
class Properties:
    legacy: bool = False  # delta.enableChangeDataFeed
    tracked: bool = False  # delta.enableRowTracking
    mapped: bool = False  # delta.columnMapping.mode is not none
    vectors: bool = False  # delta.enableDeletionVectors
    stamped: bool = False  # delta.enableInCommitTimestamps
    features: frozenset = frozenset()  # table features that were asked for
    epoch: int = 0  # how often row tracking was switched on: ids of one epoch are not those of another


@dataclasses.dataclass(frozen=True)
class Version:
    columns: tuple
    rows: dict  # uid → Row
    changes: tuple
    properties: Properties
    constraints: dict  # name → function of a row's values
    partition: Column | None
    swaps_files: bool  # a legacy feed of it may also show rows of files that went and came back, as delete and insert
    hides_equal: bool = False  # a feed of it need not show rows whose values stay the same as changes


class Edit:
    """What one commit does. Statements fill it from the table's rows; Table.commit() takes it."""

    def __init__(self, table):
        self.rows = dict(table.rows)
        self.columns = table.columns
        self.properties = table.properties
        self.constraints = table.constraints
        self.partition = table.partition
        self.version = table.version + 1
        self.changes = []
        self.swaps_files = self.hides_equal = False
        self.written = []  # the values of rows that constraints see

    def generated(self, values, given):
        """The values of generated columns that are not @given."""
        return {column.id: column.generation.of(values) for column in self.columns if column.generation and column.id not in given}

    def insert(self, uid, given):
        """Columns that @given has no value for get theirs."""
        assert uid not in self.rows
        values = {column.id: column.default for column in self.columns} | given
        values |= self.generated(values, given)
        self.rows[uid] = Row(values, self.version)
        self.changes.append(Change("insert", uid, values))
        self.written.append(values)

    def delete(self, uid):
        row = self.rows.pop(uid)
        self.changes.append(Change("delete", uid, row.values, row.life))

    def update(self, uid, given):
        """A pair, also when nothing is different (cdf.md §5.3, 4). Generated columns that are not @given follow those that are."""
        values = self.rows[uid].values | given
        values |= self.generated(values, given)
        self.pair(uid, self.rows[uid], values)
        self.rows[uid] = Row(values, self.version, self.rows[uid].life)
        self.written.append(values)

    def pair(self, uid, before, values):
        self.changes.append(Change("update_preimage", uid, before.values, before.life))
        self.changes.append(Change("update_postimage", uid, values, before.life))

    def replace(self, uid, given):
        """A writer that keeps no row ids writes the row anew: it is another one, which only shows if it has other values (§5.3, 5)."""
        before, values = self.rows[uid], self.rows[uid].values | given
        if values != before.values:
            self.changes += [Change("delete", uid, before.values, before.life), Change("insert", uid, values, self.version)]
        self.rows[uid] = Row(values, self.version, self.version)
        self.written.append(values)

    def restore(self, version):
        """Rows come back with their ids and the versions that changed them (§5.2, 5)."""
        now, then = ({(uid, row.life): row for uid, row in rows.items()} for rows in (self.rows, version.rows))
        for uid, life in now.keys() - then.keys():
            self.changes.append(Change("delete", uid, now[uid, life].values, life))
        for uid, life in then.keys() - now.keys():
            self.changes.append(Change("insert", uid, then[uid, life].values, life))
        for uid, life in now.keys() & then.keys():
            if now[uid, life].changed_at != then[uid, life].changed_at:
                self.pair(uid, now[uid, life], then[uid, life].values)
        self.rows, self.columns = dict(version.rows), version.columns
        self.properties = dataclasses.replace(version.properties, features=self.properties.features | version.properties.features,
                                              stamped=self.properties.stamped)
        self.constraints, self.partition, self.swaps_files = version.constraints, version.partition, True

    def track_rows(self):
        """Row tracking is switched on: every row has an id from now on, and some version that gave it."""
        self.properties = dataclasses.replace(self.properties, tracked=True, epoch=self.properties.epoch + 1)
        self.rows = {uid: Row(row.values, None) for uid, row in self.rows.items()}

    def violations(self):
        """The conditions one of which refuses the edit: of CHECK, where false and NULL both do, of generated columns and NOT NULL."""
        found = set()
        for values in self.written:
            if (any(check(values) is not True for check in self.constraints.values())
                    or any(values[column.id] != column.generation.of(values) for column in self.columns if column.generation)):
                found.add("DELTA_VIOLATE_CONSTRAINT_WITH_VALUES")
            if any(column.not_null and values.get(column.id) is None for column in self.columns):
                found.add("DELTA_NOT_NULL_CONSTRAINT_VIOLATED")
        return tuple(found)


class Table:
    """The newest version and all before it."""

    def __init__(self, columns, properties, partition=None):
        self.versions = [Version(tuple(columns), {}, (), properties, {}, partition, False)]
        self.next_uid = 0
        self.next_column = len(columns)
        self.vacuumed = 0  # files that only versions before this one need may be gone
        self.first = 0  # versions before it are no longer in the log
        self.aged = 0  # the newest version of before a long time passed: clean-up must keep it and all after it

    version = property(lambda self: len(self.versions) - 1)
    rows = property(lambda self: self.versions[-1].rows)
    columns = property(lambda self: self.versions[-1].columns)
    properties = property(lambda self: self.versions[-1].properties)
    constraints = property(lambda self: self.versions[-1].constraints)
    partition = property(lambda self: self.versions[-1].partition)

    def fresh_uid(self):
        self.next_uid += 1
        return self.next_uid - 1

    def fresh_column(self, name, type_):
        if not self.properties.mapped:  # a name is all that a column is: one that RESTORE took away is the same when it comes back
            for version in reversed(self.versions):
                for column in version.columns:
                    if column.name.lower() == name.lower():
                        return Column(column.id, column.name, column.type)
        self.next_column += 1
        return Column(self.next_column - 1, name, type_)

    def commit(self, edit, n_commits=1):
        """@n_commits: the log's versions of this edit; all but the last leave the table as it was."""
        for _ in range(n_commits - 1):
            before = self.versions[-1]
            self.versions.append(dataclasses.replace(before, changes=(), swaps_files=False, hides_equal=False))
        if n_commits > 0:
            self.versions.append(Version(tuple(edit.columns), edit.rows, tuple(edit.changes), edit.properties, edit.constraints,
                                         edit.partition, edit.swaps_files, edit.hides_equal))

    # ---- contents ----

    def contents(self, version):
        """uid → name → value."""
        found = self.versions[version]
        return {uid: shown(row.values, found.columns) for uid, row in found.rows.items()}

    def is_certain(self, version):
        """Whether nothing that @version needs may be gone by clean-up."""
        return version >= self.vacuumed and version >= self.first

    # ---- the feed (§2.10, §6) ----

    def feed_mode(self, start, end):
        """legacy, automatic or None: no feed."""
        versions = self.versions[start:end + 1]
        if all(version.properties.legacy for version in versions):
            return "legacy"
        if all(version.properties.tracked for version in versions):
            return "automatic"
        return None

    def feed_columns(self, start, end):
        """The read schema: the newest one without column mapping, else that of the end."""
        three = (self.versions[start], self.versions[end], self.versions[-1])
        return three[1].columns if any(version.properties.mapped for version in three) else three[2].columns

    def feed_schema_is_additive(self, start, end, mode):
        """Whether every schema fits the read schema (§6.4), and files lie in the same partitions; of an automatic feed also, whether none takes away what the one before had."""
        columns, versions = self.feed_columns(start, end), self.versions[start:end + 1]
        steps = zip(versions, versions[1:]) if mode == "automatic" else ()
        same_partition = len({version.partition and version.partition.id for version in (*versions, self.versions[-1])}) == 1
        return (same_partition and all(are_read_as(version.columns, columns) for version in versions)
                and all(are_read_as(before.columns, after.columns) for before, after in steps))

    def feed_is_certain(self, start):
        return start >= self.first and (self.vacuumed == 0 or start > self.vacuumed)

    def feed(self, start, end):
        """A list of (version, type, uid, name → value)."""
        columns = self.feed_columns(start, end)
        return [(number, change.type, change.uid, shown(change.values, columns))
                for number in range(start, end + 1) for change in self.versions[number].changes]

    def without_dropped(self, changes, columns):
        """@changes without the values of columns that a version has not, though those read have them: a RESTORE brought them back. Rows
        written without them have lost them; others, in files that are older, have not. So too the rows that the RESTORE removes."""
        for version, type_, uid, values in changes:
            kept = {column.id for column in self.versions[version].columns}
            if self.versions[version].swaps_files:
                kept &= self.same_columns(version)
            names = {column.name for column in columns if column.id not in kept}
            yield version, type_, uid, {name: None if name in names else value for name, value in values.items()}

    def net_changes(self, start, end):
        """What became of each row over the range: what it was before it, and what it is after it (§7.9)."""
        lives = {}
        for number in range(start, end + 1):
            for change in self.versions[number].changes:
                lives.setdefault((change.uid, change.life), []).append((number, change))
        columns = self.feed_columns(start, end)
        for (uid, _), changes in lives.items():
            (first_at, first), (last_at, last) = changes[0], changes[-1]
            was, is_ = first.type in ("delete", "update_preimage"), last.type in ("insert", "update_postimage")
            if was:
                yield first_at, "update_preimage" if is_ else "delete", uid, shown(first.values, columns)
            if is_:
                yield last_at, "update_postimage" if was else "insert", uid, shown(last.values, columns)

    def same_columns(self, version):
        """The ids of the columns that @version has from the one before it; those of a table that was replaced are the same by their names."""
        before = {column.id: column for column in self.versions[version - 1].columns}
        return {column.id for column in self.versions[version].columns if column.id in before
                and (before[column.id].era == column.era or before[column.id].name == column.name)}

    def without_equal(self, changes):
        """@changes without rows that are as they were in versions that need not show them."""
        seen = {}
        for version, type_, uid, values in changes:
            seen.setdefault((version, uid), []).append(values)
        return [change for change in changes if not self.versions[change[0]].hides_equal
                or [change[3]] * 2 != seen[change[0], change[2]]]

    def normalized_feed(self, changes, start, end, mode):
        """@changes without what may be told in two ways. In a legacy feed of versions that swap files, pairs are deletes and inserts, and a
        row that is both deleted and inserted with the same values is not there; it is not there either where such rows need not be."""
        changes = self.without_dropped(changes, self.feed_columns(start, end))
        if mode != "legacy":
            return sorted(changes, key=repr)
        changes = self.without_equal(list(changes))
        kept, swapped = [], {}
        halves = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}
        for version, type_, uid, values in changes:
            if self.versions[version].swaps_files:
                key = (version, uid, repr(sorted(values.items())))
                sum_, _ = swapped.get(key, (0, None))
                swapped[key] = (sum_ + halves[type_], values)
            else:
                kept.append((version, type_, uid, values))
        for (version, uid, _), (sum_, values) in swapped.items():
            kept += [(version, "insert" if sum_ > 0 else "delete", uid, values)] * abs(sum_)
        return sorted(kept, key=repr)


# ---- time (§7.5–7.7, §8) ----

class Moment(int):
    """Milliseconds since 1970; a plain int is a version."""


def moment_text(moment, between=" "):
    """In UTC, to the millisecond."""
    return time.strftime(f"%Y-%m-%d{between}%H:%M:%S", time.gmtime(moment // 1000)) + f".{moment % 1000:03}"


def at_or_before(times, moment):
    """The version of @moment for time travel, or the condition that says why there is none. @times: version → Moment, those of the log."""
    if moment > max(times.values()):
        return "DELTA_TIMESTAMP_GREATER_THAN_COMMIT"
    return max((version for version, at in times.items() if at <= moment), default="DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION")


def feed_range(times, start, end, lenient):
    """What the bounds of a feed mean: (first, last), () where that is no version, or a set of conditions of which any may be told. @end may
    be None. @lenient: timestampOutOfRange.enabled."""
    by_time = isinstance(start, Moment), isinstance(end, Moment)
    first, last = min(times), max(times)
    backwards = {"DELTA_INVALID_CDC_RANGE"} if end is not None and by_time[0] == by_time[1] and end < start else set()
    if start > (times[last] if by_time[0] else last):
        if lenient:
            return backwards or ()
        return backwards | {"DELTA_TIMESTAMP_GREATER_THAN_COMMIT" if by_time[0] else "DELTA_CDC_START_VERSION_AFTER_LATEST"}
    wrong = backwards
    if not by_time[0] and start < first:
        wrong |= {"DELTA_VERSION_NOT_FOUND"}
    if end is None or (lenient and end > (times[last] if by_time[1] else last)):
        end = last
    elif by_time[1]:
        end = at_or_before(times, end)
    elif end > last:
        end = "DELTA_VERSION_NOT_FOUND"
    if isinstance(end, str):
        wrong |= {end}
    if wrong:
        return wrong
    if by_time[0]:
        start = min(version for version, at in times.items() if at >= start)
    if end < start:
        return () if by_time == (True, True) else {"DELTA_INVALID_CDC_RANGE"}
    return start, end


def are_read_as(columns, readers):
    return all(any(column.is_read_as(reader) for reader in readers) for column in columns)


def shown(values, columns):
    return {column.name: values.get(column.id) for column in columns}


# ---- MERGE ----

def merge(edit, source, matches, matched, not_matched, not_matched_by_source):
    """Clauses are (condition(target values, source row) or None, action); an action takes (target values, source row) and gives the values
    to set; no action: delete. Those of @not_matched give (uid, values). Returns: whether no target row is changed by several source rows."""
    unmatched_source = set(range(len(source)))
    before = dict(edit.rows)
    for uid, row in before.items():
        found = [index for index, candidate in enumerate(source) if matches(row.values, candidate) is True]
        unmatched_source.difference_update(found)
        clauses = matched if found else not_matched_by_source
        only_deletes = matched and matched[0] == (None, None)
        if len(found) > 1 and (matched or not_matched_by_source) and not only_deletes:
            return False  # whatever the conditions say; only a MERGE that only inserts does not look
        for condition, action in clauses:
            candidate = source[found[0]] if found else None
            if condition is None or condition(row.values, candidate) is True:
                if action is None:
                    edit.delete(uid)
                else:
                    edit.update(uid, action(row.values, candidate))
                break
    for index in sorted(unmatched_source):
        for condition, action in not_matched:
            if condition is None or condition({}, source[index]) is True:
                edit.insert(*action({}, source[index]))
                break
    return True
