#!/usr/bin/env python3
"""Runs a command and says {"seconds", "cpu_seconds", "bytes"}: its time and its peak of resident memory.

A program of its own, since Linux counts the memory of the process that starts a command as the command's.
"""

import json
import os
import subprocess
import sys
import time

start = time.monotonic()
process = subprocess.Popen(sys.argv[1:], stdout=sys.stderr)
_, status, usage = os.wait4(process.pid, 0)
print(json.dumps({"seconds": time.monotonic() - start, "cpu_seconds": usage.ru_utime + usage.ru_stime, "bytes": usage.ru_maxrss * 1024}))
sys.exit(os.waitstatus_to_exitcode(status))
