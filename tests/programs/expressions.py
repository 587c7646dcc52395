"""Random expressions that are both SQL text and a function of a row's values (column id → value)."""
import dataclasses
import typing

import programs_model as model

VALUES = {
    "INT": [None, -1, 0, 1, 2, 3, 7, 100],
    "BIGINT": [None, 0, 1, 1 << 40, -5],
    "STRING": [None, "", "a", "b", "ab", "A b", "ü", "it's", "a\\b", "100%", "{}"],
    "DATE": [None, "1970-01-01", "2024-02-29", "2025-12-31"],
    "DOUBLE": [None, 0.0, 1.5, -2.25, 1e300],
    "BOOLEAN": [None, True, False],
    "TIMESTAMP": [None, "1969-12-31T23:59:59.999999Z", "2024-02-29T12:34:56.789000Z", "2026-01-01T00:00:00.000000Z"],
    "DECIMAL(9, 2)": [None, "0.00", "1.50", "-0.01", "1234567.89"],
    "ARRAY<INT>": [None, [], [1], [2, None]],
    "STRUCT<x: INT, y: STRING>": [None, {"x": 1, "y": "a"}, {"x": None, "y": "b"}, {"x": 2, "y": None}],
}
PARTITION_VALUES = {
    "INT": [None, 0, 1, -1],
    "STRING": [None, "x", "y", "a b", "p=q/r", "ü%20", "__HIVE"],
    "DATE": [None, "1970-01-01", "2024-02-29"],
    "BOOLEAN": [None, True, False],
    "TIMESTAMP": [None, "2024-02-29T12:34:56.789000Z", "2026-01-01T00:00:00.000000Z"],
    "DECIMAL(9, 2)": [None, "0.00", "1.50"],
}
STRUCT = "STRUCT<x: INT, y: STRING>"


@dataclasses.dataclass(frozen=True)
class Expr:
    sql: str
    of: typing.Callable  # a row's values → value


def quoted(name):
    return "`" + name.replace("`", "``") + "`"


def literal(value, type_):
    """@value as SQL of exactly @type_."""
    if value is None:
        return f"CAST(NULL AS {type_})"
    if type_ == "STRING":
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if type_ == "STRUCT<x: INT, y: STRING>":
        return f"named_struct('x', {literal(value['x'], 'INT')}, 'y', {literal(value['y'], 'STRING')})"
    if type_ == "ARRAY<INT>":
        return f"CAST(array({', '.join(literal(one, 'INT') for one in value)}) AS ARRAY<INT>)"
    if type_ == "BOOLEAN":
        return "true" if value else "false"
    return {"INT": "{}", "BIGINT": "{}L", "DATE": "DATE'{}'", "DOUBLE": "{!r}D", "TIMESTAMP": "TIMESTAMP'{}'",
            "DECIMAL(9, 2)": "CAST('{}' AS DECIMAL(9, 2))"}[type_].format(value)


def choices_of(table, column):
    if table.partition is not None and column.id == table.partition.id:
        # delta-rs does not find the file it removes when its path is not ASCII, and goes on reading it.
        return [value for value in PARTITION_VALUES[column.type] if not (table.with_foreign and value == "ü%20")]
    return VALUES[column.type]


def draw_value(rnd, table, column):
    """Seldom NULL where that is refused."""
    values = choices_of(table, column)
    if column.not_null and rnd.random() < 0.97:
        values = [value for value in values if value is not None]
    return rnd.choice(values)


# ---- three-valued logic ----

def not_(a):
    return None if a is None else not a


def and_(a, b):
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def or_(a, b):
    return not_(and_(not_(a), not_(b)))


def comparison(operator, a, b):
    if a is None or b is None:
        return None
    if isinstance(a, str):
        a, b = a.encode(), b.encode()
    return {"=": a == b, "<>": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator]


# ---- predicates ----

def draw_atom(rnd, table, prefix):
    """@prefix: `t.` or nothing."""
    if rnd.random() < 0.3:
        modulus, rest = rnd.randint(2, 5), rnd.randint(0, 2)
        if rnd.random() < 0.5:
            return Expr(f"{prefix}uid % {modulus} = {rest}", lambda v: v["uid"] % modulus == rest)
        bound = rnd.randint(0, max(1, table.next_uid))
        operator = rnd.choice(["=", "<", ">="])
        return Expr(f"{prefix}uid {operator} {bound}", lambda v: comparison(operator, v["uid"], bound))
    column = rnd.choice([column for column in table.columns if column.name != "uid"])
    name = prefix + quoted(column.name)
    if column.type == "ARRAY<INT>" or rnd.random() < 0.2:
        return rnd.choice([Expr(f"{name} IS NULL", lambda v: v.get(column.id) is None),
                           Expr(f"{name} IS NOT NULL", lambda v: v.get(column.id) is not None)])
    if column.type == STRUCT:
        value = rnd.choice([1, 2])
        return Expr(f"{name}.x = {value}", lambda v: comparison("=", (v.get(column.id) or {"x": None})["x"], value))
    if column.type == "BOOLEAN":
        return Expr(name, lambda v: v.get(column.id))
    choices = [value for value in choices_of(table, column) if value is not None]
    value = rnd.choice(choices)
    kind = rnd.random()
    if kind < 0.15:
        return Expr(f"{name} <=> {literal(value, column.type)}", lambda v: v.get(column.id) is not None and v.get(column.id) == value)
    if kind < 0.3:
        values = rnd.sample(choices, min(len(choices), 2))
        return Expr(f"{name} IN ({', '.join(literal(one, column.type) for one in values)})",
                    lambda v: None if v.get(column.id) is None else v.get(column.id) in values)
    operator = rnd.choice(["=", "=", "<>"] if column.type == "DECIMAL(9, 2)" else ["=", "=", "<>", "<", "<=", ">", ">="])
    return Expr(f"{name} {operator} {literal(value, column.type)}", lambda v: comparison(operator, v.get(column.id), value))


def draw_predicate(rnd, table, prefix=""):
    first = draw_atom(rnd, table, prefix)
    kind = rnd.random()
    if kind < 0.6:
        return first
    if kind < 0.7:
        return Expr(f"NOT ({first.sql})", lambda v: not_(first.of(v)))
    second = draw_atom(rnd, table, prefix)
    if kind < 0.85:
        return Expr(f"{first.sql} AND {second.sql}", lambda v: and_(first.of(v), second.of(v)))
    return Expr(f"({first.sql} OR {second.sql})", lambda v: or_(first.of(v), second.of(v)))


def draw_partition_predicate(rnd, table):
    """Over the partition column alone. Only for partitioned tables."""
    column = model_column(table)
    value = rnd.choice([value for value in PARTITION_VALUES[column.type] if value is not None])
    name = quoted(column.name)
    return rnd.choice([Expr(f"{name} = {literal(value, column.type)}", lambda v: comparison("=", v.get(column.id), value)),
                       Expr(f"{name} IS NULL", lambda v: v.get(column.id) is None)])


def model_column(table) -> model.Column:
    """The partition column by its name of now."""
    return next(column for column in table.columns if column.id == table.partition.id)


# ---- values to assign ----

def draw_assigned(rnd, table, column, prefix=""):
    """An expression of @column's type over the target's row."""
    name = prefix + quoted(column.name)
    kind = rnd.random()
    is_partition = table.partition is not None and column.id == table.partition.id
    if kind < 0.15:
        return Expr(name, lambda v: v.get(column.id))
    if kind < 0.5 and column.type == "INT" and not is_partition:
        step = rnd.randint(1, 3)
        return Expr(f"{name} + {step}", lambda v: None if v.get(column.id) is None else v[column.id] + step)
    if kind < 0.4 and column.type == "STRING" and not is_partition:
        return Expr(f"concat({name}, 'x')", lambda v: None if v.get(column.id) is None else v[column.id] + "x")
    others = [other for other in table.columns if other.type == column.type and other.id != column.id]
    if kind < 0.6 and others and not is_partition:
        other = rnd.choice(others)
        return Expr(prefix + quoted(other.name), lambda v: v.get(other.id))
    if kind > 0.93 and column.generation is None:
        return Expr("DEFAULT", lambda v: column.default)
    value = draw_value(rnd, table, column)
    return Expr(literal(value, column.type), lambda v: value)
