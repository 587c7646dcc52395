"""Types of drawn values: Spark's JSON, DuckDB's type, values to draw from, literals; and SELECTs of rows of them."""
from autocdc_model import Map


class Type:
    """literal: SQL of a value; plain: the value in the text of a list of structs (listed()), literal's twin."""

    def __init__(self, spark, duck, values, literal, plain=str):
        self.spark, self.duck, self.values, self.literal, self.plain = spark, duck, values, literal, plain

    def sql(self, value):
        return f"NULL::{self.duck}" if value is None else self.literal(value)

    def inner(self, value):
        return "NULL" if value is None else self.plain(value)


def number(duck):
    return lambda v: f"{v}::{duck}"


def double(v):
    return f"'{'NaN' if v != v else v}'::DOUBLE"


def text(v):
    return "'" + v.replace("'", "''") + "'"


def quoted(v):
    return '"' + v.replace("\\", "\\\\").replace('"', '\\"') + '"'


LONG = Type("long", "BIGINT", list(range(1, 9)), number("BIGINT"))
INTEGER = Type("integer", "INTEGER", list(range(1, 5)), number("INTEGER"))
STRING = Type("string", "VARCHAR", ["a", "b", "B", "ä", "", "o'"], text, quoted)
DOUBLE = Type("double", "DOUBLE", [0.0, -0.0, 1.5, -2.0, float("nan")], double)
FLOAT = Type("float", "FLOAT", [0.0, -0.0, 0.5, float("nan")], lambda v: f"'{'NaN' if v != v else v}'::FLOAT")
DECIMAL = Type("decimal(12,2)", "DECIMAL(12,2)", [1.25, 2.5, -1.0], number("DECIMAL(12,2)"))
DATE = Type("date", "DATE", [1, 2, 3], lambda v: f"DATE '2024-01-{v:02d}'", lambda v: f"2024-01-{v:02d}")
TIMESTAMP = Type("timestamp", "TIMESTAMP WITH TIME ZONE", list(range(1, 9)), lambda v: f"TIMESTAMPTZ '2024-01-01 00:00:{v:02d}.5+00'",
                 lambda v: quoted(f"2024-01-01 00:00:{v:02d}.5+00"))
BOOLEAN = Type("boolean", "BOOLEAN", [False, True], lambda v: str(v).lower())
BINARY = Type("binary", "BLOB", ["00", "FF", "41"], lambda v: f"'\\x{v}'::BLOB", lambda v: quoted(f"\\x{v}"))


def field(name, type_):
    return {"name": name, "type": type_.spark, "nullable": True, "metadata": {}}


def struct(**fields):
    duck = "STRUCT(" + ", ".join(f'"{n}" {t.duck}' for n, t in fields.items()) + ")"

    def literal(v):
        return "{" + ", ".join(f"'{n}': {t.sql(v.get(n))}" for n, t in fields.items()) + f"}}::{duck}"

    def plain(v):
        return "{" + ", ".join(f"{quoted(n)}: {t.inner(v.get(n))}" for n, t in fields.items()) + "}"

    made = Type({"type": "struct", "fields": [field(n, t) for n, t in fields.items()]}, duck, [None], literal, plain)
    made.fields = fields
    return made


def array(element):
    made = Type({"type": "array", "elementType": element.spark, "containsNull": True}, element.duck + "[]", [None],
                lambda v: f"[{', '.join(element.sql(x) for x in v)}]::{element.duck}[]",
                lambda v: f"[{', '.join(element.inner(x) for x in v)}]")
    made.element = element
    return made


def map_of(key, value):
    made = Type({"type": "map", "keyType": key.spark, "valueType": value.spark, "valueContainsNull": True}, f"MAP({key.duck}, {value.duck})",
                [None], lambda v: f"MAP {{{', '.join(f'{key.sql(k)}: {value.sql(x)}' for k, x in dict(v).items())}}}::MAP({key.duck}, {value.duck})",
                lambda v: f"{{{', '.join(f'{key.inner(k)}={value.inner(x)}' for k, x in dict(v).items())}}}")
    made.entry = (key, value)
    return made


def shape_of(type_):
    """As Flow.shapes wants it: None unless a struct."""
    return {n: shape_of(t) for n, t in type_.fields.items()} if hasattr(type_, "fields") else None


def leaf_of(type_, path):
    for name in path:
        type_ = type_.fields[name]
    return type_


def draw(rnd, type_, nulls=0.15):
    """A random value."""
    if nulls and rnd.random() < nulls:
        return None
    if hasattr(type_, "fields"):
        return {n: draw(rnd, t, 0.25) for n, t in type_.fields.items()}
    if hasattr(type_, "element"):
        return [draw(rnd, type_.element, 0.2) for _ in range(rnd.randint(0, 2))]
    if hasattr(type_, "entry"):
        return Map([k, draw(rnd, type_.entry[1])] for k in sorted(rnd.sample(type_.entry[0].values, rnd.randint(0, 2))))
    return rnd.choice(type_.values)


def select(columns, rows):
    """A SELECT of literals. columns: [(name, Type)]."""
    if not rows:
        return "SELECT " + ", ".join(f'NULL::{t.duck} AS "{n}"' for n, t in columns) + " WHERE false"
    body = ", ".join("(" + ", ".join(t.sql(r.get(n)) for n, t in columns) + ")" for r in rows)
    return f"SELECT * FROM (VALUES {body}) t(" + ", ".join(f'"{n}"' for n, _ in columns) + ")"


def listed(columns, rows):
    """The same SELECT from one literal, which DuckDB reads in a fraction of the time."""
    if not rows:
        return select(columns, rows)
    row = struct(**dict(columns))
    return f"SELECT r.* FROM (SELECT unnest({text(array(row).plain(rows))}::{row.duck}[]) r)"


def schema(columns):
    return {"type": "struct", "fields": [field(n, t) for n, t in columns]}
