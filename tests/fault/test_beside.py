#!/usr/bin/env python3
"""OPTIMIZE, REORG and VACUUM beside writers of one table: nothing is lost, doubled or brought back (R59, R60).

Processes append rows of their own and delete some of them; others pack and purge all the time. A statement may lose against another
writer and say so by name; then it has changed nothing. At the end the table holds what the statements that succeeded say, and the
changes of every version add up to it.

usage: test_beside.py [seconds]
"""
import collections
import concurrent.futures
import pathlib
import sys
import tempfile
import time

from cases import answer, sluice

CONFLICTS = ("DELTA_CONCURRENT", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED")


def attempt(root, sql):
    """Whether the statement succeeded; anything but a named conflict is a finding."""
    result = sluice(root, sql)
    if result.returncode != 0 and not any(name in result.stderr for name in CONFLICTS):
        raise AssertionError(f"{sql}: {result.stderr}")
    return result.returncode == 0


def write(root, number, end):
    """Appends rows 1000 * number + i, deletes every third again. Returns the ids that must be there, and the conflicts."""
    ids, i, conflicts = set(), 0, 0
    while time.time() < end:
        row = 1000 * number + i
        if attempt(root, f"INSERT INTO t VALUES ({row}, {i % 2})"):
            ids.add(row)
        else:
            conflicts += 1
        if i % 3 == 2:
            if attempt(root, f"DELETE FROM t WHERE id = {row - 1}"):
                ids.discard(row - 1)
            else:
                conflicts += 1
        i += 1
    return ids, conflicts


def maintain(root, sql, end):
    conflicts = 0
    while time.time() < end:
        conflicts += 0 if attempt(root, sql) else 1
    return set(), conflicts


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 8
    with tempfile.TemporaryDirectory(prefix="sluice-beside-") as directory:
        root = pathlib.Path(directory) / "w"
        # Before the start the protocol is at its end: the first vector would raise it.
        answer(root, "CREATE TABLE t (id INT, p INT) PARTITIONED BY (p) TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true', "
                     "'delta.enableDeletionVectors' = 'true', 'delta.enableRowTracking' = 'true', 'delta.checkpointInterval' = '7')")
        end = time.time() + seconds
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            jobs = [pool.submit(write, root, n, end) for n in (1, 2, 3)]
            jobs += [pool.submit(maintain, root, sql, end)
                     for sql in ("OPTIMIZE t", "OPTIMIZE t WHERE p = 1", "REORG TABLE t APPLY (PURGE)", "VACUUM t")]
            results = [job.result() for job in jobs]
        expected = sorted(set().union(*(ids for ids, _ in results)))
        got = [row["id"] for row in answer(root, "SELECT id FROM t ORDER BY id")]
        assert got == expected, f"lost: {sorted(set(expected) - set(got))}, too many: {sorted(set(got) - set(expected))}, of {len(got)}"
        sums = collections.Counter()
        for row in answer(root, "SELECT id, _change_type FROM table_changes('t', 0)"):
            sums[row["id"]] += 1 if row["_change_type"] in ("insert", "update_postimage") else -1
        assert sorted(i for i, n in sums.items() if n) == expected and set(sums.values()) <= {0, 1}, "the feed does not add up"
        row_ids = [row["n"] for row in answer(root, "SELECT count(DISTINCT _metadata.row_id) AS n FROM t")]
        assert row_ids == [len(expected)], f"row ids: {row_ids} of {len(expected)}"
        print(f"{len(expected)} rows, conflicts by process: {[n for _, n in results]}")


if __name__ == "__main__":
    main()
