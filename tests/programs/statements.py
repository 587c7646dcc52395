"""The kinds of statements that programs are made of. Each is one function under @kind: it draws a statement for the table as it is now
and returns what runs and what it must do, or None where it has no meaning now. One more kind is one more function."""
import dataclasses
import typing

import programs_model as model
from expressions import (PARTITION_VALUES, STRUCT, VALUES, Expr, choices_of, draw_assigned, draw_partition_predicate, draw_predicate,
                         draw_value, literal, model_column, quoted)

KINDS = {}  # name → (weight, function)


@dataclasses.dataclass
class Foreign:
    """What another writer does: a function of a DeltaTable of delta-rs."""
    text: str
    go: typing.Callable


@dataclasses.dataclass
class Statement:
    """@run: SQL texts, functions of the runner, or Foreign. @edit: what changes. @errors: conditions one of which must come instead; @may: those
    that may. @n_commits: how many versions it makes; None: one, or also none where no row changes. @affected: what num_affected_rows must say."""
    run: list
    edit: model.Edit | None = None
    errors: tuple = ()
    may: tuple = ()
    n_commits: tuple | None = None
    affected: int | None = None
    after: typing.Callable = lambda table: None  # what else the model learns


def kind(weight):
    def register(function):
        KINDS[function.__name__] = (weight, function)
        return function
    return register


# ---- pieces ----

def draw_row(rnd, table, uid=None):
    """The values of a new row; now and then wrong ones of generated columns."""
    values = {"uid": table.fresh_uid() if uid is None else uid}
    values |= {column.id: draw_value(rnd, table, column) for column in table.columns if column.id != "uid"}
    return values | {column.id: column.generation.of(values) for column in table.columns if column.generation and rnd.random() < 0.98}


def definition(column):
    text = f"{quoted(column.name)} {column.type}" + " NOT NULL" * column.not_null
    if column.generation is not None:
        return f"{text} GENERATED ALWAYS AS ({column.generation.sql})"
    return text if column.default is None else f"{text} DEFAULT {literal(column.default, column.type)}"


def create_sql(verb, name, columns, partition, settings):
    """@columns: None: those of a query."""
    listed = "" if columns is None else f" ({', '.join(map(definition, columns))})"
    partitioned = "" if partition is None else f" PARTITIONED BY ({quoted(partition.name)})"
    properties = ", ".join(f"'{key}' = '{str(value).lower()}'" for key, value in settings.items())
    return f"{verb} {name}{listed}{partitioned} TBLPROPERTIES ({properties})"


def tuple_of(values, columns):
    return "(" + ", ".join(literal(values[column.id], column.type) if column.id in values else "DEFAULT" for column in columns) + ")"


def values_of(rows, columns):
    return "VALUES " + ", ".join(tuple_of(row, columns) for row in rows)


def finished(table, sql, edit, affected=None):
    """The statement @sql, the last one if it is a list, which a constraint may refuse."""
    run = sql if isinstance(sql, list) else [sql]
    return Statement(run, errors=edit.violations()) if edit.violations() else Statement(run, edit, affected=affected)


def some_columns(rnd, table):
    """Columns that an UPDATE may set: not uid, seldom generated ones."""
    columns = [column for column in table.columns if column.id != "uid" and (column.generation is None or rnd.random() < 0.1)]
    return rnd.sample(columns, rnd.randint(1, min(len(columns), 3)))


# ---- rows ----

@kind(6)
def insert(rnd, t):
    edit = model.Edit(t)
    rows = [draw_row(rnd, t) for _ in range(rnd.choice([1, 1, 2, 3, 6]))]
    columns = list(t.columns)
    listed = ""
    if rnd.random() < 0.4:  # some columns, in another order
        columns = [column for column in columns if column.id == "uid" or rnd.random() < (0.3 if column.generation else 0.7)]
        rnd.shuffle(columns)
        rows = [{column.id: row[column.id] for column in columns} for row in rows]
        listed = " (" + ", ".join(quoted(column.name) for column in columns) + ")"
    if rnd.random() < 0.3:  # the word DEFAULT here and there
        rows = [{column.id: row[column.id] for column in columns if column.id == "uid" or column.generation or rnd.random() < 0.7}
                for row in rows]
    for row in rows:
        edit.insert(row["uid"], row)
    return finished(t, f"INSERT INTO {t.name}{listed} {values_of(rows, columns)}", edit, affected=len(rows))


@kind(2)
def insert_select(rnd, t):
    edit = model.Edit(t)
    condition = draw_predicate(rnd, t)
    shift = t.next_uid
    chosen = [row for row in t.rows.values() if condition.of(row.values) is True]
    form = rnd.choice(["", " BY NAME", " (columns)"])
    columns = [column for column in t.columns if not form or not column.generation]
    for row in chosen:
        uid = row.values["uid"] + shift
        t.next_uid = max(t.next_uid, uid + 1)
        edit.insert(uid, {column.id: row.values.get(column.id) for column in columns} | {"uid": uid})
    if form == " BY NAME":
        rnd.shuffle(columns)
    if form == " (columns)":
        form = " (" + ", ".join(quoted(column.name) for column in columns) + ")"
    names = [f"uid + {shift} AS uid" if column.id == "uid" else quoted(column.name) for column in columns]
    return finished(t, f"INSERT INTO {t.name}{form} SELECT {', '.join(names)} FROM {t.name} WHERE {condition.sql}", edit,
                    affected=len(chosen))


@kind(4)
def delete(rnd, t):
    edit = model.Edit(t)
    condition = draw_predicate(rnd, t)
    chosen = [uid for uid, row in t.rows.items() if condition.of(row.values) is True]
    for uid in chosen:
        edit.delete(uid)
    return Statement([f"DELETE FROM {t.name} WHERE {condition.sql}"], edit, affected=len(chosen))


@kind(1)
def delete_partition(rnd, t):
    if t.partition is None:
        return None
    edit = model.Edit(t)
    condition = draw_partition_predicate(rnd, t)
    for uid in [uid for uid, row in t.rows.items() if condition.of(row.values) is True]:
        edit.delete(uid)
    return Statement([f"DELETE FROM {t.name} WHERE {condition.sql}"], edit)


@kind(0.3)
def delete_all(rnd, t):
    edit = model.Edit(t)
    for uid in list(t.rows):
        edit.delete(uid)
    return Statement([rnd.choice([f"DELETE FROM {t.name}", f"TRUNCATE TABLE {t.name}"])], edit)


@kind(6)
def update(rnd, t):
    edit = model.Edit(t)
    condition = draw_predicate(rnd, t) if rnd.random() < 0.9 else Expr("true", lambda v: True)
    sets = [(column, draw_assigned(rnd, t, column)) for column in some_columns(rnd, t)]
    chosen = [(uid, row.values) for uid, row in t.rows.items() if condition.of(row.values) is True]
    for uid, values in chosen:
        edit.update(uid, {column.id: expr.of(values) for column, expr in sets})
    assigned = ", ".join(f"{quoted(column.name)} = {expr.sql}" for column, expr in sets)
    return finished(t, f"UPDATE {t.name} SET {assigned} WHERE {condition.sql}", edit, affected=len(chosen))


@kind(1)
def update_field(rnd, t):
    """A field of a struct."""
    columns = [column for column in t.columns if column.type == STRUCT]
    if not columns:
        return None
    edit = model.Edit(t)
    column, condition = rnd.choice(columns), draw_predicate(rnd, t)
    value = rnd.choice([None, 1, 5])
    for uid, row in list(t.rows.items()):
        if condition.of(row.values) is True:
            before = row.values.get(column.id) or {"x": None, "y": None}
            edit.update(uid, {column.id: before | {"x": value}})
    return finished(t, f"UPDATE {t.name} SET {quoted(column.name)}.x = {literal(value, 'INT')} WHERE {condition.sql}", edit)


# ---- overwriting ----

OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"

@kind(1)
def overwrite(rnd, t):
    edit = model.Edit(t)
    for uid in list(t.rows):
        edit.delete(uid)
    rows = [draw_row(rnd, t) for _ in range(rnd.randint(1, 4))]
    for row in rows:
        edit.insert(row["uid"], row)
    return finished(t, [f"SET {OVERWRITE_MODE} = static", f"INSERT OVERWRITE {t.name} {values_of(rows, t.columns)}"], edit)


def overwrite_partitions(rnd, t):
    """Rows of a few partitions, and the values of those partitions."""
    rows = [draw_row(rnd, t) for _ in range(rnd.randint(1, 4))]
    return rows, {row[t.partition.id] for row in rows}


@kind(1)
def overwrite_dynamic(rnd, t):
    if t.partition is None:
        return None
    edit = model.Edit(t)
    rows, partitions = overwrite_partitions(rnd, t)
    for uid in [uid for uid, row in t.rows.items() if row.values.get(t.partition.id) in partitions]:
        edit.delete(uid)
    for row in rows:
        edit.insert(row["uid"], row)
    return finished(t, [f"SET {OVERWRITE_MODE} = dynamic", f"INSERT OVERWRITE {t.name} {values_of(rows, t.columns)}"], edit)


@kind(1)
def overwrite_one_partition(rnd, t):
    """INSERT OVERWRITE … PARTITION (p = …): the other columns are given."""
    if t.partition is None:
        return None
    edit = model.Edit(t)
    value = draw_value(rnd, t, t.partition)
    rows = [draw_row(rnd, t) | {t.partition.id: value} for _ in range(rnd.randint(1, 3))]
    for uid in [uid for uid, row in t.rows.items() if row.values.get(t.partition.id) == value]:
        edit.delete(uid)
    for row in rows:
        edit.insert(row["uid"], row)
    partition = model_column(t)
    given = [column for column in t.columns if column.id != partition.id]
    return finished(t, f"INSERT OVERWRITE {t.name} PARTITION ({quoted(partition.name)} = {literal(value, partition.type)}) "
                    f"{values_of(rows, given)}", edit)


@kind(1.5)
def replace_where(rnd, t):
    """New rows must satisfy the condition."""
    edit = model.Edit(t)
    condition = draw_partition_predicate(rnd, t) if t.partition is not None and rnd.random() < 0.4 else draw_predicate(rnd, t)
    rows = [draw_row(rnd, t) for _ in range(rnd.randint(2, 6))]
    rows = [row for row in rows if condition.of(row) is True]
    if not rows:
        return None
    for uid in [uid for uid, row in t.rows.items() if condition.of(row.values) is True]:
        edit.delete(uid)
    for row in rows:
        edit.insert(row["uid"], row)
    return finished(t, f"INSERT INTO {t.name} REPLACE WHERE {condition.sql} {values_of(rows, t.columns)}", edit)


@kind(1)
def replace_using(rnd, t):
    """Rows whose values of the columns some new row has go; NULL equals NULL."""
    columns = [column for column in t.columns if column.id != "uid" and column.type not in (STRUCT, "ARRAY<INT>")]
    edit = model.Edit(t)
    columns = rnd.sample(columns, rnd.randint(1, min(2, len(columns))))
    rows = [draw_row(rnd, t) for _ in range(rnd.randint(1, 4))]
    keys = {tuple(row[column.id] for column in columns) for row in rows}
    for uid in [uid for uid, row in t.rows.items() if tuple(row.values.get(column.id) for column in columns) in keys]:
        edit.delete(uid)
    for row in rows:
        edit.insert(row["uid"], row)
    names = ", ".join(quoted(column.name) for column in columns)
    return finished(t, f"INSERT INTO {t.name} REPLACE USING ({names}) {values_of(rows, t.columns)}", edit)


# ---- MERGE ----

AMBIGUOUS = ("DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE",)


def draw_source(rnd, t):
    """Rows with k (may be the uid of a row there), nid (the uid of a new row), n (a number) and a value for every column of the table."""
    uids = list(t.rows) or [0]
    keys = [rnd.choice(uids) if rnd.random() < 0.7 else None for _ in range(rnd.randint(1, 5))]
    if rnd.random() < 0.8:  # each row there at most once
        keys = [key if key not in keys[:index] else None for index, key in enumerate(keys)]
    nids = [t.fresh_uid() for _ in keys]
    return [{"k": key, "nid": nid, "n": rnd.randint(0, 3)} | draw_row(rnd, t, nid) for key, nid in zip(keys, nids)]


def source_sql(t, rows):
    """A query of @rows; the table's columns are called v<id>."""
    columns = [column for column in t.columns if column.id != "uid"]
    tuples = ["(" + ", ".join([literal(row["k"], "BIGINT"), literal(row["nid"], "BIGINT"), literal(row["n"], "INT")]
                              + [literal(row[column.id], column.type) for column in columns]) + ")" for row in rows]
    return f"(SELECT * FROM VALUES {', '.join(tuples)} AS v(k, nid, n{''.join(f', v{column.id}' for column in columns)}))"


def draw_clause_condition(rnd, t, sides):
    """(SQL, function of target values and source row); none most of the time."""
    if rnd.random() < 0.5:
        return "", None
    if "s" in sides and rnd.random() < 0.5:
        n = rnd.randint(0, 3)
        return f" AND s.n >= {n}", lambda values, source: source["n"] >= n
    if "t" in sides:
        condition = draw_predicate(rnd, t, "t.")
        return f" AND {condition.sql}", lambda values, source: condition.of(values)
    return "", None


def draw_update_clause(rnd, t, with_source):
    """(SQL after THEN, action)."""
    sets = []
    for column in some_columns(rnd, t):
        if with_source and rnd.random() < 0.7:
            sets.append((column, f"s.v{column.id}", lambda values, source, id_=column.id: source[id_]))
        else:
            expr = draw_assigned(rnd, t, column, "t.")
            sets.append((column, expr.sql, lambda values, source, expr=expr: expr.of(values)))
    text = ", ".join(f"{quoted(column.name)} = {sql}" for column, sql, _ in sets)
    return f"UPDATE SET {text}", lambda values, source: {column.id: of(values, source) for column, _, of in sets}


def draw_changing_clause(rnd, t, with_source):
    if rnd.random() < 0.3:
        return "DELETE", None
    return draw_update_clause(rnd, t, with_source)


def draw_insert_clause(rnd, t):
    columns = [column for column in t.columns if column.id == "uid" or rnd.random() < (0.1 if column.generation else 0.8)]
    defaults = [column for column in columns if column.id != "uid" and not column.generation and rnd.random() < 0.1]
    names = ", ".join(quoted(column.name) for column in columns)
    values = ", ".join("s.nid" if column.id == "uid" else "DEFAULT" if column in defaults else f"s.v{column.id}" for column in columns)

    def action(_, source):
        return source["nid"], {column.id: source[column.id] for column in columns if column not in defaults}
    return f"INSERT ({names}) VALUES ({values})", action


def draw_clauses(rnd, title, sides, draw, t):
    """(SQL, clauses): one or two, the last without a condition or not."""
    text, clauses = "", []
    for last in (False, True) if rnd.random() < 0.4 else (True,):
        condition_sql, condition = draw_clause_condition(rnd, t, sides)
        if not last and condition is None:
            continue
        action_sql, action = draw()
        text += f" WHEN {title}{condition_sql} THEN {action_sql}"
        clauses.append((condition, action))
    return text, clauses


def draw_on(rnd, t):
    """(SQL, function): what makes rows match."""
    kind = rnd.random()
    if kind < 0.65:
        return "t.uid = s.k", lambda values, source: None if source["k"] is None else values["uid"] == source["k"]
    if kind < 0.75 and t.partition is not None:
        column = model_column(t)
        return (f"t.uid = s.k AND t.{quoted(column.name)} <=> s.v{column.id}",
                lambda values, source: values["uid"] == source["k"] and values.get(column.id) == source[column.id])
    if kind < 0.95:
        column = next(column for column in t.columns if column.id == 1)
        return (f"t.{quoted(column.name)} = s.v1",
                lambda values, source: None if values.get(1) is None or source[1] is None else values[1] == source[1])
    return "false", lambda values, source: False


@kind(7)
def merge(rnd, t):
    edit = model.Edit(t)
    source, (on_sql, matches) = draw_source(rnd, t), draw_on(rnd, t)
    parts = {
        "matched": ("MATCHED", "st", lambda: draw_changing_clause(rnd, t, True)),
        "not_matched": (rnd.choice(["NOT MATCHED", "NOT MATCHED BY TARGET"]), "s", lambda: draw_insert_clause(rnd, t)),
        "by_source": ("NOT MATCHED BY SOURCE", "t", lambda: draw_changing_clause(rnd, t, False)),
    }
    chosen = [name for name, odds in (("matched", 0.8), ("not_matched", 0.7), ("by_source", 0.25)) if rnd.random() < odds] or ["matched"]
    drawn = {name: draw_clauses(rnd, *parts[name], t) for name in chosen}
    unambiguous = model.merge(edit, source, matches, *(drawn.get(name, ("", []))[1] for name in parts))
    sql = f"MERGE INTO {t.name} t USING {source_sql(t, source)} s ON {on_sql}" + "".join(drawn[name][0] for name in chosen)
    if not unambiguous:
        return Statement([sql], errors=AMBIGUOUS + edit.violations())
    affected = sum(change.type != "update_preimage" for change in edit.changes)
    return finished(t, sql, edit, affected=affected)


@kind(2)
def merge_star(rnd, t):
    """UPDATE SET *, INSERT *: the source has the table's columns."""
    edit = model.Edit(t)
    uids = rnd.sample(list(t.rows), min(len(t.rows), rnd.randint(0, 3)))
    source = [draw_row(rnd, t, uid) for uid in uids] + [draw_row(rnd, t) for _ in range(rnd.randint(0, 2))]
    if not source:
        return None
    updates, inserts = rnd.choice([(True, True), (True, False), (False, True)])
    for row in source:
        if row["uid"] in t.rows:
            if updates:
                edit.update(row["uid"], row)
        elif inserts:
            edit.insert(row["uid"], row)
    names = ", ".join(quoted(column.name) for column in t.columns)
    query = f"(SELECT * FROM {values_of(source, t.columns)} AS v({names}))"
    clauses = " WHEN MATCHED THEN UPDATE SET *" * updates + " WHEN NOT MATCHED THEN INSERT *" * inserts
    return finished(t, f"MERGE INTO {t.name} t USING {query} s ON t.uid = s.uid{clauses}", edit)


@kind(1)
def merge_evolution(rnd, t):
    """UPDATE SET *, INSERT * of a source that lacks some of the table's columns and may have one more."""
    name = free_name(rnd, t)
    kept = [column for column in t.columns if column.id == "uid" or rnd.random() < 0.8]
    if name is None:
        return None
    edit = model.Edit(t)
    added = [t.fresh_column(name, rnd.choice(list(VALUES)))] if rnd.random() < 0.7 else []
    columns = kept + added
    uids = rnd.sample(list(t.rows), min(len(t.rows), rnd.randint(0, 2)))
    rows = [draw_row(rnd, t, uid) for uid in uids] + [draw_row(rnd, t) for _ in range(rnd.randint(1, 2))]
    rows = [{column.id: draw_value(rnd, t, column) if column in added else row[column.id] for column in columns} for row in rows]
    for row in rows:
        if row["uid"] in t.rows:
            edit.update(row["uid"], row)
        else:
            edit.insert(row["uid"], row)
    edit.columns = t.columns + tuple(added)
    names = ", ".join(quoted(column.name) for column in columns)
    query = f"(SELECT * FROM {values_of(rows, columns)} AS v({names}))"
    return finished(t, f"MERGE WITH SCHEMA EVOLUTION INTO {t.name} t USING {query} s ON t.uid = s.uid WHEN MATCHED THEN UPDATE SET * "
                    "WHEN NOT MATCHED THEN INSERT *", edit)


# ---- ALTER, REPLACE ----

@kind(0.6)
def replace_table(rnd, t):
    """The same name with other columns and the properties of the beginning; with column mapping, all columns are new ones. Empty, or AS SELECT."""
    if t.properties.mapped != t.first_properties.mapped:  # it is not said whether a column mapped by its name is one that is not mapped
        return None
    edit = model.Edit(t)
    for uid in list(t.rows):
        edit.delete(uid)
    columns = [column for column in t.columns if column.id in ("uid", 1) or rnd.random() < 0.7]
    columns = list(t.columns) if len(columns) < 3 else columns
    with_rows = rnd.random() < 0.5
    if with_rows:  # a query says nothing of these
        columns = [dataclasses.replace(column, not_null=False, default=None, generation=None) for column in columns]
    if t.properties.mapped:
        columns = [dataclasses.replace(column, era=t.version + 1) for column in columns]
    choices = [column for column in columns if column.id not in ("uid", 1) and column.type in PARTITION_VALUES]
    edit.columns, edit.constraints = tuple(columns), {}
    edit.partition = rnd.choice(choices) if choices and len(columns) > 2 and rnd.random() < 0.5 else None
    epoch = t.properties.epoch + (t.first_properties.tracked and not t.properties.tracked)
    edit.properties = dataclasses.replace(t.first_properties, epoch=epoch, features=t.properties.features | t.first_properties.features)
    if with_rows:
        rows = [{"uid": t.fresh_uid()} | {column.id: rnd.choice(PARTITION_VALUES[column.type] if column is edit.partition else VALUES[column.type])
                                          for column in columns if column.id != "uid"} for _ in range(rnd.randint(1, 3))]
        for row in rows:
            edit.insert(row["uid"], row)
        names = ", ".join(quoted(column.name) for column in columns)
        sql = create_sql("CREATE OR REPLACE TABLE", t.name, None, edit.partition, t.settings)
        sql += f" AS SELECT * FROM {values_of(rows, columns)} AS v({names})"
    else:
        sql = create_sql("CREATE OR REPLACE TABLE", t.name, columns, edit.partition, t.settings)
    blocked = ("DELTA_BLOCK_COLUMN_MAPPING_AND_CDC_OPERATION",) * (edit.properties.mapped and edit.properties.legacy)
    if blocked and t.rows:
        return Statement([sql], errors=blocked)
    return Statement([sql], edit, may=blocked, n_commits=(1, 1))


@kind(0.7)
def widen_column(rnd, t):
    columns = [column for column in changeable_columns(t) if column.type == "INT"]
    if not t.widens or not columns:
        return None
    edit = model.Edit(t)
    column = rnd.choice(columns)
    wider = dataclasses.replace(column, type=rnd.choice(["BIGINT", "DOUBLE"]))
    edit.columns = tuple(wider if one is column else one for one in t.columns)
    return altered(t, f"ALTER COLUMN {quoted(column.name)} TYPE {wider.type}", edit)



def altered(t, sql, edit, n_commits=(1, 1)):
    return Statement([f"ALTER TABLE {t.name} {sql}"], edit, n_commits=n_commits)


def free_name(rnd, t):
    names = ["n1", "N 2", "x.y", "ß"] if t.properties.mapped else ["n1", "N2", "_x"]
    taken = {column.name.lower() for column in t.columns}
    names = [name for name in names if name.lower() not in taken]
    return rnd.choice(names) if names else None


def changeable_columns(t):
    """Those that may be dropped and retyped."""
    return [column for column in t.columns if column.id not in ("uid", 1) and not (t.partition and column.id == t.partition.id)
            and column.generation is None]


@kind(1)
def add_column(rnd, t):
    name = free_name(rnd, t)
    if name is None:
        return None
    edit = model.Edit(t)
    column = t.fresh_column(name, rnd.choice(list(VALUES)))
    position, place = rnd.choice([(len(t.columns), ""), (0, " FIRST"), (1, f" AFTER {quoted(t.columns[0].name)}")])
    edit.columns = t.columns[:position] + (column,) + t.columns[position:]
    return altered(t, f"ADD COLUMN {quoted(name)} {column.type}{place}", edit)


@kind(1)
def rename_column(rnd, t):
    name = free_name(rnd, t)
    columns = [column for column in t.columns if column.id != "uid"]
    if not t.properties.mapped or name is None:
        return None
    edit = model.Edit(t)
    column = rnd.choice(columns)
    edit.columns = tuple(dataclasses.replace(one, name=name) if one is column else one for one in t.columns)
    sql = f"RENAME COLUMN {quoted(column.name)} TO {quoted(name)}"
    errors = ("DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE",) * bool(column.id == 1 and t.constraints)
    errors += ("DELTA_GENERATED_COLUMNS_DEPENDENT_COLUMN_CHANGE",) * any(one.generation and one.generation.reads == column.id
                                                                        for one in t.columns)
    if errors:
        return Statement([f"ALTER TABLE {t.name} {sql}"], errors=errors)
    return altered(t, sql, edit)


@kind(0.7)
def drop_column(rnd, t):
    columns = changeable_columns(t)
    if not t.properties.mapped or len(columns) < 2:
        return None
    edit = model.Edit(t)
    column = rnd.choice(columns)
    edit.columns = tuple(one for one in t.columns if one is not column)
    return altered(t, f"DROP COLUMN {quoted(column.name)}", edit)


@kind(0.5)
def move_column(rnd, t):
    edit = model.Edit(t)
    column = rnd.choice(t.columns)
    edit.columns = (column,) + tuple(one for one in t.columns if one is not column)
    return altered(t, f"ALTER COLUMN {quoted(column.name)} FIRST", edit)


DEFAULTS = "allowColumnDefaults"
ABSENT = ("DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT",)
KEPT = ("DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE",)


@kind(0.7)
def switch_not_null(rnd, t):
    edit = model.Edit(t)
    column = rnd.choice(t.columns)
    edit.columns = tuple(dataclasses.replace(one, not_null=not one.not_null) if one is column else one for one in t.columns)
    sql = f"ALTER COLUMN {quoted(column.name)} {'DROP' if column.not_null else 'SET'} NOT NULL"
    if not column.not_null and any(row.values.get(column.id) is None for row in t.rows.values()):
        return Statement([f"ALTER TABLE {t.name} {sql}"], errors=("DELTA_NEW_NOT_NULL_VIOLATION",))
    return altered(t, sql, edit)


@kind(1)
def switch_default(rnd, t):
    columns = [column for column in t.columns if column.id != "uid" and column.generation is None]
    edit = model.Edit(t)
    column = rnd.choice(columns)
    value = None
    if column.default is None or rnd.random() < 0.5:
        value = rnd.choice([value for value in choices_of(t, column) if value not in (None, "")])
    edit.columns = tuple(dataclasses.replace(one, default=value) if one is column else one for one in t.columns)
    action = "DROP DEFAULT" if value is None else f"SET DEFAULT {literal(value, column.type)}"
    sql = f"ALTER COLUMN {quoted(column.name)} {action}"
    if value is not None and DEFAULTS not in t.properties.features:
        return Statement([f"ALTER TABLE {t.name} {sql}"], errors=("WRONG_COLUMN_DEFAULTS_FOR_DELTA_FEATURE_NOT_ENABLED",))
    return altered(t, sql, edit)


@kind(0.5)
def support_feature(rnd, t):
    feature = rnd.choice([DEFAULTS, DEFAULTS, "vacuumProtocolCheck", "timestampNtz", "appendOnly", "domainMetadata"])
    edit = model.Edit(t)
    edit.properties = dataclasses.replace(t.properties, features=t.properties.features | {feature})
    return altered(t, rnd.choice([f"SET TBLPROPERTIES ('delta.feature.{feature}' = 'supported')", f"ADD FEATURE {feature}"]), edit, (0, 1))


@kind(0.7)
def drop_feature(rnd, t):
    """What nothing uses goes; what readers must know stays."""
    feature = rnd.choice([DEFAULTS, "checkConstraints", "rowTracking", "domainMetadata", "columnMapping", "appendOnly"])
    edit = model.Edit(t)
    edit.properties = dataclasses.replace(t.properties, features=t.properties.features - {feature})
    if feature == "rowTracking":
        edit.properties = dataclasses.replace(edit.properties, tracked=False)
    errors = {DEFAULTS: ("DELTA_UNSUPPORTED_OPERATION",) * any(column.default is not None for column in t.columns),
              "checkConstraints": ("DELTA_CANNOT_DROP_CHECK_CONSTRAINT_FEATURE",) * bool(t.constraints),
              "domainMetadata": ("DELTA_FEATURE_DROP_DEPENDENT_FEATURE",) * t.properties.tracked,
              "columnMapping": (KEPT if t.properties.mapped else KEPT + ABSENT), "appendOnly": KEPT + ABSENT}.get(feature, ())
    may = {"rowTracking": ABSENT * (not t.properties.tracked), "checkConstraints": ABSENT,
           "domainMetadata": ABSENT + ("DELTA_FEATURE_DROP_DEPENDENT_FEATURE",)}.get(feature, ())
    if feature == DEFAULTS and feature not in t.properties.features:
        errors = ABSENT
    return Statement([f"ALTER TABLE {t.name} DROP FEATURE {feature}"], None if errors else edit, errors, may, n_commits=(1, 1))


@kind(1)
def switch_vectors(rnd, t):
    edit = model.Edit(t)
    edit.properties = dataclasses.replace(t.properties, vectors=not t.properties.vectors)
    return altered(t, f"SET TBLPROPERTIES ('delta.enableDeletionVectors' = '{str(edit.properties.vectors).lower()}')", edit)


@kind(1)
def switch_legacy_feed(rnd, t):
    edit = model.Edit(t)
    edit.properties = dataclasses.replace(t.properties, legacy=not t.properties.legacy)
    if t.properties.legacy and rnd.random() < 0.5:
        return altered(t, "UNSET TBLPROPERTIES ('delta.enableChangeDataFeed')", edit)
    return altered(t, f"SET TBLPROPERTIES ('delta.enableChangeDataFeed' = '{str(edit.properties.legacy).lower()}')", edit)


@kind(0.7)
def switch_row_tracking(rnd, t):
    edit = model.Edit(t)
    if t.properties.tracked:
        edit.properties = dataclasses.replace(t.properties, tracked=False)
        return altered(t, "SET TBLPROPERTIES ('delta.enableRowTracking' = 'false')", edit)
    edit.track_rows()
    return altered(t, "SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')", edit, n_commits=(1, 3))


@kind(0.5)
def switch_commit_timestamps(rnd, t):
    edit = model.Edit(t)
    edit.properties = dataclasses.replace(t.properties, stamped=not t.properties.stamped)
    if not t.properties.stamped:
        return altered(t, "SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')", edit)
    return Statement([f"ALTER TABLE {t.name} DROP FEATURE inCommitTimestamp"], edit, n_commits=(1, 1))


@kind(0.5)
def map_columns(rnd, t):
    if t.properties.mapped:
        return None
    edit = model.Edit(t)
    edit.properties = dataclasses.replace(t.properties, mapped=True)
    return altered(t, "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')", edit)


@kind(0.7)
def add_constraint(rnd, t):
    name = f"c{len(t.constraints)}"
    if len(t.constraints) > 1:
        return None
    edit = model.Edit(t)
    value = rnd.choice([value for value in VALUES["INT"] if value is not None])
    column = next(column for column in t.columns if column.id == 1)
    edit.constraints = t.constraints | {name: lambda values: values.get(1) is None or values[1] != value}
    sql = f"ADD CONSTRAINT {name} CHECK ({quoted(column.name)} <> {value} OR {quoted(column.name)} IS NULL)"
    if any(edit.constraints[name](row.values) is not True for row in t.rows.values()):
        return Statement([f"ALTER TABLE {t.name} {sql}"], errors=("DELTA_NEW_CHECK_CONSTRAINT_VIOLATION",))
    return altered(t, sql, edit)


@kind(0.5)
def drop_constraint(rnd, t):
    if not t.constraints:
        return None
    edit = model.Edit(t)
    name = rnd.choice(list(t.constraints))
    edit.constraints = {other: check for other, check in t.constraints.items() if other != name}
    return altered(t, f"DROP CONSTRAINT {name}", edit)


# ---- maintenance ----

@kind(2)
def optimize(rnd, t):
    where = ""
    if t.partition is not None and rnd.random() < 0.3:
        where = f" WHERE {draw_partition_predicate(rnd, t).sql}"
    return Statement([f"OPTIMIZE {t.name}{where}"], model.Edit(t))


@kind(0.7)
def purge(rnd, t):
    return Statement([f"REORG TABLE {t.name} APPLY (PURGE)"], model.Edit(t))


@kind(1.5)
def restore(rnd, t):
    """Only to versions with the same row tracking and mapping: what a RESTORE makes of those is not said."""
    now = t.properties
    numbers = [number for number, version in enumerate(t.versions[:-1])
               if t.is_certain(number) and (version.properties.tracked, version.properties.mapped, version.properties.epoch)
               == (now.tracked, now.mapped, now.epoch)]
    if not numbers:
        return None
    number = rnd.choice(numbers)
    edit = model.Edit(t)
    edit.restore(t.versions[number])
    target = f"VERSION AS OF {number}"
    if rnd.random() < 0.3:
        target = f"TIMESTAMP AS OF '{model.moment_text(t.commit_times()[number])}'"
    return Statement([f"RESTORE TABLE {t.name} TO {target}"], edit, n_commits=(0, 1))


@kind(0.5)
def vacuum(rnd, t):
    """Files that only older versions need go, or none of them."""
    edit = model.Edit(t)
    now = t.version
    if rnd.random() < 0.4:
        return Statement(["SET spark.databricks.delta.retentionDurationCheck.enabled = false",
                          rnd.choice([f"VACUUM {t.name}", f"VACUUM {t.name} RETAIN 0 HOURS DRY RUN"])], edit, n_commits=(0, 2))

    def learn(table):
        table.vacuumed = now
    return Statement(["SET spark.databricks.delta.retentionDurationCheck.enabled = false", f"VACUUM {t.name} RETAIN 0 HOURS"], edit,
                     n_commits=(2, 2), after=learn)


@kind(0.5)
def age(rnd, t):
    """Two months pass; later checkpoints may clean up the log. In-commit timestamps cannot be changed."""
    if any(version.properties.stamped for version in t.versions):
        return None
    return Statement([lambda runner: runner.age()])


# ---- processes ----

@kind(0.7)
def reopen(rnd, t):
    return Statement([lambda runner: runner.reopen()])


@kind(0.3)
def kill(rnd, t):
    return Statement([lambda runner: runner.kill()])


@kind(1.5)
def killed(rnd, t):
    """The process ends in the middle of a statement: it has made its commit or none."""
    name = rnd.choice(["insert", "update", "delete", "merge", "merge_star", "overwrite", "replace_where", "optimize", "purge", "restore"])
    statement = KINDS[name][1](rnd, t)
    if statement is None or statement.errors:
        return None
    *before, sql = statement.run
    seconds = rnd.random() ** 2 * 0.06
    return Statement([*before, lambda runner: runner.kill_after(sql, seconds)], statement.edit, n_commits=(0, 1))
