"""Count the rows that work, are refused and are wrong: `python -m tests.trace.convert.count`.

With names of tables as arguments, those alone; with `-v`, the reason of each that does not work.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections import Counter
from pathlib import Path

from tests.trace.convert.table import Row, judge

HERE = Path(__file__).parent
TABLES = {"idioms": "idiom", "libraries": "library"}


def rows(kind: str) -> dict[str, list[Row]]:
    """The rows of the tables of one kind, by the name of their file."""
    package = f"tests.trace.convert.{kind}"
    found: dict[str, list[Row]] = {}
    table = getattr(importlib.import_module(f"{package}.{TABLES[kind]}"), TABLES[kind]).rows
    for path in sorted((HERE / kind).glob("*.py")):
        before = set(table)
        importlib.import_module(f"{package}.{path.stem}")
        if new := [row for name, row in table.items() if name not in before]:
            found[path.stem] = new
    return found


def main(*arguments: str) -> None:
    """Print the counts, by table."""
    chosen = [one for one in arguments if not one.startswith("-")]
    total: Counter[str] = Counter()
    for kind in TABLES:
        if not (HERE / kind).is_dir():
            continue
        for table, several in rows(kind).items():
            counts: Counter[str] = Counter()
            for row in several:
                if chosen and table not in chosen and row.name not in chosen:
                    continue
                try:
                    verdict = judge(row)
                except Exception as error:
                    counts["broken"] += 1
                    print(f"  the row {row.name} itself fails: {error}")
                    continue
                counts[verdict.word] += 1
                if verdict.word != "works" and "-v" in arguments:
                    reason = re.sub(r"\s+", " ", verdict.reason)[:400]
                    print(f"  {verdict.word:8}{table}.{row.name}: {reason}")
            if counts:
                print(f"{kind}/{table}: {dict(counts)}", flush=True)
            total += counts
            total[kind] += sum(counts.values())
    print(dict(total))


if __name__ == "__main__":
    main(*sys.argv[1:])
