"""Statements that another writer, delta-rs, makes on the same table: registered under @foreign, as those of statements.py are under @kind.

delta-rs does not write tables with row tracking, in-commit timestamps, type widening, defaults or generated columns, so programs with it
have none (KINDS without EXCLUDED). It rewrites files without row ids and tags, and records changes in its own way.
"""
import datetime
import decimal

import programs_model as model
from expressions import STRUCT, VALUES, Expr, and_, comparison, draw_value, or_
from statements import Foreign, Statement, draw_row, free_name

FOREIGN = {}  # name → (weight, function)
EXCLUDED = {"switch_row_tracking", "switch_commit_timestamps", "support_feature", "widen_column", "age"}


def foreign(weight):
    def register(function):
        FOREIGN[function.__name__] = (weight, function)
        return function
    return register


def has_hidden_nulls(table):
    """What delta-rs does not read: whether a column became NOT NULL while deletion vectors may hide rows where it is NULL."""
    required = {column.id for column in table.columns if column.not_null}
    tightened = any(not required <= {column.id for column in version.columns if column.not_null} for version in table.versions)
    return tightened and any(version.properties.vectors for version in table.versions)


def done(t, text, go, edit, **more):
    """@go: a function of a DeltaTable. What a constraint would refuse is not drawn: delta-rs has its own words for it. It does not record
    an update to equal values."""
    edit.hides_equal = True
    return None if edit.violations() or has_hidden_nulls(t) else Statement([Foreign(text, go)], edit, **more)


# ---- pieces ----

def arrow_of(rows, columns):
    import pyarrow as pa
    types = {"INT": pa.int32(), "BIGINT": pa.int64(), "STRING": pa.string(), "DATE": pa.date32(), "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_(),
             "TIMESTAMP": pa.timestamp("us", "UTC"), "DECIMAL(9, 2)": pa.decimal128(9, 2), "ARRAY<INT>": pa.list_(pa.field("element", pa.int32())),
             STRUCT: pa.struct([("x", pa.int32()), ("y", pa.string())])}

    def values(column):
        convert = {"DATE": datetime.date.fromisoformat, "TIMESTAMP": datetime.datetime.fromisoformat,
                   "DECIMAL(9, 2)": decimal.Decimal}.get(column.type, lambda value: value)
        found = [row.get(column.id) for row in rows]
        return [None if value is None else convert(value) for value in found]
    arrays = [pa.array(values(column), types[column.type]) for column in columns]
    return pa.table(arrays, schema=pa.schema([pa.field(column.name, one.type, nullable=not column.not_null or one.null_count > 0)
                                              for column, one in zip(columns, arrays)]))


def append(path, rows, **options):
    from deltalake import write_deltalake
    write_deltalake(str(path), rows, mode=options.pop("mode", "append"), **options)


def plain_name(column):
    """Of a column that a condition in DataFusion's SQL may name without quotes; None: there is none."""
    return column.name if column.name in ("a", "b", "p") else None


def draw_condition(rnd, t):
    """Never one that no row can satisfy: delta-rs then records a row as deleted that it keeps."""
    modulus, rest, bound = rnd.randint(2, 5), rnd.randint(0, 1), rnd.randint(0, max(1, t.next_uid))
    first = rnd.choice([Expr(f"uid % {modulus} = {rest}", lambda v: v["uid"] % modulus == rest),
                        Expr(f"uid >= {bound}", lambda v: v["uid"] >= bound), Expr(f"uid = {bound}", lambda v: v["uid"] == bound)])
    named = [column for column in t.columns if plain_name(column) and column.type in ("INT", "STRING")]
    if not named or rnd.random() < 0.4:
        return first
    column = rnd.choice(named)
    value = rnd.choice([1, 2]) if column.type == "INT" else rnd.choice(["a b", "x"])
    second = Expr(f"{column.name} = {value!r}", lambda v: comparison("=", v.get(column.id), value))
    if not column.not_null and rnd.random() < 0.4:
        second = Expr(f"{column.name} IS NULL", lambda v: v.get(column.id) is None)
    return rnd.choice([second, Expr(f"{first.sql} AND {second.sql}", lambda v: and_(first.of(v), second.of(v))),
                       Expr(f"({first.sql} OR {second.sql})", lambda v: or_(first.of(v), second.of(v)))])


def chosen(t, condition):
    return [uid for uid, row in t.rows.items() if condition.of(row.values) is True]


# ---- rows ----

@foreign(4)
def foreign_append(rnd, t):
    edit = model.Edit(t)
    rows = [draw_row(rnd, t) for _ in range(rnd.randint(1, 5))]
    for row in rows:
        edit.insert(row["uid"], row)
    table = arrow_of(rows, t.columns)
    return done(t, f"append {rows}", lambda dt: append(dt.table_uri, table), edit, n_commits=(1, 1))


@foreign(0.4)
def foreign_append_wider(rnd, t):
    """With a column that the table lacks; delta-rs moves partition columns to the end then."""
    name = free_name(rnd, t)
    if name is None or t.properties.mapped or t.partition is not None:
        return None
    edit = model.Edit(t)
    column = t.fresh_column(name, rnd.choice(list(VALUES)))
    edit.columns = t.columns + (column,)
    rows = [draw_row(rnd, t) | {column.id: draw_value(rnd, t, column)} for _ in range(2)]
    for row in rows:
        edit.insert(row["uid"], row)
    table = arrow_of(rows, edit.columns)
    return done(t, f"append {rows}, schema_mode='merge'", lambda dt: append(dt.table_uri, table, schema_mode="merge"), edit)


@foreign(3)
def foreign_delete(rnd, t):
    edit = model.Edit(t)
    condition = draw_condition(rnd, t)
    for uid in chosen(t, condition):
        edit.delete(uid)
    return done(t, f"delete({condition.sql!r})", lambda dt: dt.delete(condition.sql), edit)


@foreign(3)
def foreign_update(rnd, t):
    edit = model.Edit(t)
    condition = draw_condition(rnd, t)
    columns = [column for column in t.columns if plain_name(column) and column.type in ("INT", "STRING")]
    if not columns:
        return None
    column = rnd.choice(columns)
    name, id_ = column.name, column.id
    choices = [(f"{name}", lambda v: v.get(id_))]
    if column.type == "INT":
        choices += [(f"{name} + 1", lambda v: None if v.get(id_) is None else v[id_] + 1), ("7", lambda v: 7)]
    else:
        choices += [(f"concat({name}, 'x')", lambda v: (v.get(id_) or "") + "x"), ("'y'", lambda v: "y")]
    sql, of = rnd.choice(choices)
    for uid in chosen(t, condition):
        edit.update(uid, {id_: of(t.rows[uid].values)})
    return done(t, f"update({name!r}: {sql!r}, {condition.sql!r})", lambda dt: dt.update({name: sql}, predicate=condition.sql), edit)


@foreign(3)
def foreign_merge(rnd, t):
    edit = model.Edit(t)
    uids = rnd.sample(list(t.rows), min(len(t.rows), rnd.randint(0, 3)))
    source = [draw_row(rnd, t, uid) for uid in uids] + [draw_row(rnd, t) for _ in range(rnd.randint(0, 2))]
    clauses = rnd.choice([("update", "insert"), ("update",), ("insert",), ("delete",), ("delete", "insert"), ("update", "insert", "rest")])
    if not source:
        return None
    given = {row["uid"] for row in source}
    for uid in list(t.rows):
        if uid in given and "delete" in clauses or uid not in given and "rest" in clauses and uid % 2 == 0:
            edit.delete(uid)
    for row in source:
        if row["uid"] in t.rows and "update" in clauses:
            edit.update(row["uid"], row)
        elif row["uid"] not in t.rows and "insert" in clauses:
            edit.insert(row["uid"], row)
    table = arrow_of(source, t.columns)

    def go(dt):
        merger = dt.merge(table, "t.uid = s.uid", source_alias="s", target_alias="t")
        merger = merger.when_matched_update_all() if "update" in clauses else merger
        merger = merger.when_matched_delete() if "delete" in clauses else merger
        merger = merger.when_not_matched_insert_all() if "insert" in clauses else merger
        merger = merger.when_not_matched_by_source_delete("t.uid % 2 = 0") if "rest" in clauses else merger
        merger.execute()
    return done(t, f"merge {source} {clauses}", go, edit)


@foreign(0.7)
def foreign_overwrite(rnd, t):
    """All rows, or those of a condition."""
    edit = model.Edit(t)
    condition = draw_condition(rnd, t) if rnd.random() < 0.6 else None
    rows = [draw_row(rnd, t) for _ in range(rnd.randint(2, 5))]
    if condition is not None:
        rows = [row for row in rows if condition.of(row) is True]
    if not rows:
        return None
    for uid in list(t.rows) if condition is None else chosen(t, condition):
        edit.delete(uid)
    for row in rows:
        edit.insert(row["uid"], row)
    table, predicate = arrow_of(rows, t.columns), condition and condition.sql
    return done(t, f"overwrite {rows}, {predicate!r}", lambda dt: append(dt.table_uri, table, mode="overwrite", predicate=predicate), edit)


# ---- maintenance ----

@foreign(2)
def foreign_compact(rnd, t):
    if t.properties.mapped:
        return None
    if rnd.random() < 0.3:
        return done(t, "optimize.z_order(['uid'])", lambda dt: dt.optimize.z_order(["uid"]), model.Edit(t))
    return done(t, "optimize.compact()", lambda dt: dt.optimize.compact(), model.Edit(t))


@foreign(0.7)
def foreign_checkpoint(rnd, t):
    return done(t, "create_checkpoint()", lambda dt: dt.create_checkpoint(), model.Edit(t), n_commits=(0, 0))


@foreign(0.7)
def foreign_restore(rnd, t):
    """To versions of the same columns, properties and constraints: delta-rs restores files."""
    now = t.versions[-1]
    same = [number for number, version in enumerate(t.versions[:-1]) if t.is_certain(number) and
            (version.columns, version.properties, version.constraints) == (now.columns, now.properties, now.constraints)]
    if not same:
        return None
    number = rnd.choice(same)
    edit = model.Edit(t)
    edit.restore(t.versions[number])
    return done(t, f"restore({number})", lambda dt: dt.restore(number), edit, n_commits=(0, 1))


@foreign(0.4)
def foreign_vacuum(rnd, t):
    now = t.version

    def learn(table):
        table.vacuumed = now
    return done(t, "vacuum(0)", lambda dt: dt.vacuum(0, dry_run=False, enforce_retention_duration=False), model.Edit(t), n_commits=(0, 2),
                after=learn)
