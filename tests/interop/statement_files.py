"""The `.test` files of tests/sql as data: see tests/sql/README.md."""


def blocks_of(text):
    """[{"line", "kind": "statement", "query", or another first word, "rest": the words behind it, "text", "expected": lines}]"""
    found, lines, i = [], text.splitlines(), 0
    while i < len(lines):
        if not lines[i].strip() or lines[i].startswith("#"):
            i += 1
            continue
        kind, _, rest = lines[i].partition(" ")
        block = dict(line=i + 1, kind=kind, rest=rest, text=rest, expected=[])
        i += 1
        if kind in ("statement", "query"):
            body = []
            while i < len(lines) and lines[i].strip() and lines[i] != "----":
                body.append(lines[i])
                i += 1
            block["text"] = "\n".join(body).rstrip(";")
            if i < len(lines) and lines[i] == "----":
                i += 1
                while i < len(lines) and lines[i].strip():
                    block["expected"].append(lines[i])
                    i += 1
        found.append(block)
    return found


def variants_of(name, text):
    """name → blocks, one for each `variant`."""
    blocks = blocks_of(text)
    variants = [block["rest"] for block in blocks if block["kind"] == "variant"]
    if not variants:
        return {name: blocks}
    return {f"{name}-{i}": blocks_of(text.replace("__VARIANT__", variant)) for i, variant in enumerate(variants, 1)}
