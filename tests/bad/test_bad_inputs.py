#!/usr/bin/env python3
"""Bad inputs through the command: each must be refused by name, and say where it is. Speaks TAP.

usage: test_bad_inputs.py [--print] [FRAGMENT OF A NAME…]      the cases are cases/*.json, described in README.md
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SLUICE = pathlib.Path(os.environ.get("SLUICE_BUILD", "build")).resolve() / "sluice"


def filled(value, words: dict[str, str]):
    """@value with every `{word}` of @words replaced, in texts at any depth."""
    if isinstance(value, str):
        for word, text in words.items():
            value = value.replace("{" + word + "}", text)
        return value
    if isinstance(value, list):
        return [filled(v, words) for v in value]
    if isinstance(value, dict):
        return {filled(k, words): filled(v, words) for k, v in value.items()}
    return value


def sluice(root: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SLUICE_")}
    return subprocess.run([SLUICE, *arguments], capture_output=True, text=True, errors="replace", cwd=root, timeout=60,
                          env=environment)


def sql(root: pathlib.Path, text: str) -> subprocess.CompletedProcess:
    return sluice(root, "sql", "--warehouse", str(root / "warehouse"), text)


def must(done: subprocess.CompletedProcess) -> None:
    if done.returncode != 0:
        raise RuntimeError(f"a step of making the input failed: {done.stderr}")


def content(given) -> bytes:
    """The bytes of a file: a text; {"hex": …}; {"lines": [a text, or an object to write as JSON]}; {"repeat": [text, times, text, times …]}."""
    if isinstance(given, str):
        return given.encode()
    if "hex" in given:
        return bytes.fromhex(given["hex"])
    if "repeat" in given:
        parts = given["repeat"]
        return "".join(parts[i] * parts[i + 1] for i in range(0, len(parts), 2)).encode()
    return "".join((l if isinstance(l, str) else json.dumps(l)) + "\n" for l in given["lines"]).encode()


def make(case: dict, root: pathlib.Path) -> dict:
    """Makes the case's input below @root; the case with its words filled in."""
    words = {"dir": str(root)}
    table = root / "t"
    if "setup" in case:
        must(sql(root, filled(case["setup"], words)))
        first = table / "_delta_log" / f"{0:020}.json"
        for log in sorted(table.glob("_delta_log/*.json")):
            for line in log.read_text().splitlines():
                if "add" in (action := json.loads(line)):
                    words.update(path=action["add"]["path"], size=str(action["add"]["size"]))
        assert first.exists(), "setup makes the table {dir}/t"
    case = filled(case, words)
    if "checkpoint_of" in case:  # the rows of a query, as Parquet, in the place of a checkpoint
        must(sql(root, f"CREATE TABLE made AS {case['checkpoint_of']}"))
        (table / "_delta_log").mkdir(parents=True, exist_ok=True)
        source = next((root / "warehouse" / "made").glob("*.parquet"))
        shutil.copy(source, table / "_delta_log" / f"{case.get('checkpoint_version', 0):020}.checkpoint.parquet")
    for name in case.get("delete", []):
        (root / name).unlink()
    for name, given in case.get("files", {}).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(given))
    return case


def check(case: dict, done: subprocess.CompletedProcess) -> str | None:
    """What is wrong with the answer, None when nothing is."""
    if done.returncode != case.get("code", 1):
        return f"exit code {done.returncode}"
    first = re.search(r"\[([A-Z][A-Z0-9_.]+)\]", done.stderr)
    condition = first[1] if first else None
    if condition != case["condition"]:
        return f"condition {condition}, not {case['condition']}"
    for fragment in case.get("says", []):
        if fragment not in done.stderr:
            return f"it does not say {fragment!r}"
    return None


def run(case: dict, show: bool) -> str | None:
    root = pathlib.Path(tempfile.mkdtemp(prefix="sluice-bad-"))
    try:
        case = make(case, root)
        done = sluice(root, *case["run"]) if "run" in case else sql(root, case["sql"])
        problem = check(case, done)
        if show or problem:
            print("\n".join(f"# {line}" for line in (done.stderr.replace(str(root), "DIR")[:3000] or "(nothing on stderr)").splitlines()))
        return problem
    except (RuntimeError, subprocess.TimeoutExpired) as failure:
        return str(failure).splitlines()[0]
    finally:
        shutil.rmtree(root, ignore_errors=True)


def main() -> int:
    show = "--print" in sys.argv
    wanted = [a for a in sys.argv[1:] if not a.startswith("--")]
    cases = []
    for path in sorted((HERE / "cases").glob("*.json")):
        document = json.loads(path.read_text())
        for case in document["cases"]:
            name = f"{path.stem}: {case['name']}"
            if not wanted or any(w in name for w in wanted):
                cases.append((name, {**document.get("common", {}), **case}))
    print(f"1..{len(cases)}", flush=True)
    failed = 0
    for number, (name, case) in enumerate(cases, 1):
        problem = run(case, show)
        failed += problem is not None
        print(f"{'not ' if problem else ''}ok {number} {name}{' # ' + problem if problem else ''}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
