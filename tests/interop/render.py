"""Values of any reader as Sluice prints them in `--output json`: one spelling for equal values. Needs nothing but Python."""
import datetime as dt
import decimal
import json
import math


def render(value):
    if isinstance(value, dict):
        return {key: render(inner) for key, inner in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(item, tuple) and len(item) == 2 for item in value):  # a map
            return sorted([render(key), render(inner)] for key, inner in value)
        return [render(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dt.datetime):
        local = (value.astimezone(dt.timezone.utc) if value.tzinfo else value).replace(tzinfo=None)
        return local.isoformat(timespec="microseconds") + ("Z" if value.tzinfo else "")
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).hex()
    return value


def bag(rows):
    """Rows in an order of their own; @rows hold Python or rendered values."""
    return sorted(json.dumps(render(row), sort_keys=True) for row in rows)
