#!/usr/bin/env python3
"""Writes the logs of SQLite files into the files, removes the logs and makes the files small.

Usage: checkpoint.py FILE...
"""

import os
import sqlite3
import sys

for path in sys.argv[1:]:
    connection = sqlite3.connect(path, isolation_level=None)
    busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    assert busy == 0, path + " is in use."
    # Most pages are almost empty, because each table and index has its own. The page size cannot be changed while
    # there is a write-ahead log.
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA page_size = 512")
    connection.execute("VACUUM")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    for ending in ("-wal", "-shm"):
        if os.path.exists(path + ending):
            assert ending == "-shm" or os.path.getsize(path + ending) == 0
            os.remove(path + ending)
