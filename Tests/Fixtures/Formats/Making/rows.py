#!/usr/bin/env python3
"""Prints how many rows each table of SQLite files has, and names the tables that are empty in all of them.

Usage: rows.py FILE...
"""

import sqlite3
import sys

sums = {}
for path in sys.argv[1:]:
    connection = sqlite3.connect(path)
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    counts = {table: connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]
              for (table,) in tables.fetchall()}
    print(path, *(f"{table}={count}" for table, count in counts.items()))
    for table, count in counts.items():
        sums[table] = sums.get(table, 0) + count
    connection.close()
print("empty:", *sorted(table for table, count in sums.items() if count == 0))
