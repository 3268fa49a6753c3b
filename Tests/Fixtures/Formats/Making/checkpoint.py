#!/usr/bin/env python3
"""Writes the logs of SQLite files into the files and removes the logs.

Usage: checkpoint.py FILE...
"""

import os
import sqlite3
import sys

for path in sys.argv[1:]:
    connection = sqlite3.connect(path, isolation_level=None)
    busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    assert busy == 0, path + " is in use."
    connection.close()
    for ending in ("-wal", "-shm"):
        if os.path.exists(path + ending):
            assert ending == "-shm" or os.path.getsize(path + ending) == 0
            os.remove(path + ending)
