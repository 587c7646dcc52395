#!/usr/bin/env python3
"""Turns the recorded cases of golden/autocdc into lines for the harness tests/autocdc (format: autocdc_cases.py).

  autocdc_golden.py DIRECTORY          the cases
  autocdc_golden.py DIRECTORY --list   the cases that are left out, each with its reason
"""
import glob
import json
import os
import sys

from autocdc_cases import NOT_YET
from autocdc_types import BOOLEAN, DATE, INTEGER, LONG, STRING, map_of, schema, select, struct

TYPES = {"bigint": LONG, "int": INTEGER, "string": STRING, "boolean": BOOLEAN, "date": DATE, "map<string,int>": map_of(STRING, INTEGER)}

# The engine's name for what the recorded front end says before its engine is asked.
CONDITIONS = {
    "CANNOT_SET_TOGETHER": "AUTOCDC_BOTH_COLUMN_LIST_AND_EXCEPT_COLUMN_LIST",
    "INVALID_MULTIPLE_ARGUMENT_CONDITIONS": "AUTOCDC_TRACK_HISTORY_REQUIRES_SCD2",
    "(not named by the document)": "AUTOCDC_MICROBATCH_VALIDATION.NULL_SEQUENCE",
}
LEFT_OUT = {
    "scd1_reserved_prefix_column": "the reserved prefix here is __autocdc_, not the recorded engine's own (covered by test-autocdc-plan)",
}
# Answers that the specification gives instead of the recorded ones: {case: {batch: rows}}.
INSTEAD = {
    # A new column under default tracking is no drift (§5.9).
    "scd2_schema_evolution": {1: [
        {"k": 1, "v": "a", "w": "w1", "extra": None, "__START_AT": 1, "__END_AT": None},
        {"k": 2, "v": "b", "w": None, "extra": None, "__START_AT": 1, "__END_AT": 2},
        {"k": 2, "v": "b", "w": None, "extra": 8, "__START_AT": 2, "__END_AT": None}]},
    # Two upserts at sequence 2: the greatest row wins, not the one that was there (§5.3).
    "scd2_track_history_columns": {3: [
        {"k": 1, "v": "a", "w": "w3", "__START_AT": 1, "__END_AT": None},
        {"k": 2, "v": "a", "w": "w1", "__START_AT": 1, "__END_AT": 2},
        {"k": 2, "v": "x", "w": "mid", "__START_AT": 2, "__END_AT": 3},
        {"k": 2, "v": "b", "w": "w9", "__START_AT": 3, "__END_AT": None}]},
}


def type_of(text):
    if text.startswith("struct<"):
        return struct(**{n: type_of(t) for n, t in (part.split(":") for part in text[7:-1].split(","))})
    return TYPES[text]


def reason_left_out(case):
    flow = case["flow"] or {}
    if case["name"] in LEFT_OUT:
        return LEFT_OUT[case["name"]]
    for clause, name in (("from_snapshot", "snapshot"), ("apply_as_truncates", "truncate"), ("ignore_null_updates", "ignore null")):
        if flow.get(clause) and name in NOT_YET:
            return f"the clause is refused by name: {name}"
    return None


def flow_of(flow):
    return {"keys": flow["keys"], "sequence": flow.get("sequence_by"), "delete": flow.get("apply_as_deletes"),
            "truncate": flow.get("apply_as_truncates"), "ignore_null": flow.get("ignore_null_updates"), "snapshot": flow.get("from_snapshot"),
            "columns": flow.get("columns"), "except": flow.get("except_columns"), "scd": flow.get("stored_as_scd_type", 1),
            "track": flow.get("track_history_columns"), "track_except": flow.get("track_history_except")}


def target_columns(flow, sources, upto):
    """(name, Type) of the target after batch @upto: every column that any source so far had and the flow selects."""
    out = {}
    for columns in sources[: upto + 1]:
        for c in columns:
            selected = c["name"] in flow["columns"] if flow.get("columns") else c["name"] not in (flow.get("except_columns") or [])
            if selected:
                out.setdefault(c["name"], type_of(c["type"]))
    return list(out.items())


def convert(case):
    name, batches = case["name"], case["batches"]
    sources = case.get("source_columns_by_batch") or [case["source_columns"]] * len(batches)
    flows = case.get("flow_by_batch") or [case["flow"]] * len(batches)
    error = case.get("expected_error") if name not in INSTEAD else None
    failing = int(error["when"].split("batch ")[1]) if error and "batch" in error["when"] else 0 if error else None
    want = [INSTEAD.get(name, {}).get(i, rows) for i, rows in
            enumerate(case["expected_after_each_batch"] + [None] * (len(batches) - len(case["expected_after_each_batch"])))]
    out = []
    for i, events in enumerate(batches):
        columns = [(c["name"], type_of(c["type"])) for c in sources[i]]
        batch = {"schema": schema(columns), "flow": flow_of(flows[i])}
        if i in (case.get("full_refresh_at_batch") or []):
            batch["reset"] = True
            events = [e for b in batches[:i] for e in b or []]
        if events is not None:
            batch["events"] = select(columns, events)
            if "snapshot_versions" in case:
                batch |= {"version": LONG.sql(case["snapshot_versions"][i]), "version_type": LONG.spark}
        if i == failing:
            batch["error"] = CONDITIONS.get(error["class"], error["class"])
            out.append(batch)
            break
        rows = want[i] if i < len(want) else None
        if rows is not None:
            target = target_columns(flows[i], sources, i)
            batch["columns"] = [n for n, _ in target]
            if flows[i].get("stored_as_scd_type", 1) == 2:
                sequence = dict(columns)[flows[i]["sequence_by"]] if flows[i].get("sequence_by") else LONG
                target += [("__START_AT", sequence), ("__END_AT", sequence)]
                batch["columns"] += ["__START_AT", "__END_AT"]
            batch["rows"] = select(target, rows)
        out.append(batch)
    return {"name": "golden " + name, "properties": {}, "retention": -1, "golden": True, "flow": flow_of(flows[0]), "batches": out}


def main():
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.json"))):
        with open(path, encoding="utf-8") as file:
            case = json.load(file)
        reason = reason_left_out(case)
        if "--list" in sys.argv:
            if reason:
                print(f"{case['name']}: {reason}")
        elif not reason:
            print(json.dumps(convert(case), ensure_ascii=False))


if __name__ == "__main__":
    main()
