"""Prints what report.sql asks of the file that load.py has written: python3 report.py FILE"""

import sqlite3
import sys
from contextlib import closing
from pathlib import Path


def main(file: str) -> None:
    queries = (Path(__file__).parent / "report.sql").read_text().strip().split("\n\n")
    with closing(sqlite3.connect(file)) as database:
        for query in queries:
            title, _ = query.split("\n", 1)
            rows = database.execute(query)
            print(title.removeprefix("-- "))
            print_table([[column[0] for column in rows.description], *rows])
            print()


def print_table(rows) -> None:
    cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells)]
    for row in cells:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


if __name__ == "__main__":
    main(*sys.argv[1:])
