"""Writes a title over its own command line, as setproctitle(3) does: title.py TITLE [COMM].

With COMM, also sets the kernel's name of the process to the beginning of the title, as the Python
package setproctitle does.
"""

import ctypes
import sys
import time

PR_SET_NAME = 15

title = sys.argv[1].encode()
fields = open('/proc/self/stat').read().rsplit(')', 1)[1].split()
start, end = int(fields[45]), int(fields[46])
assert len(title) < end - start
ctypes.memmove(start, title.ljust(end - start, b'\0'), end - start)
if len(sys.argv) > 2:
    ctypes.CDLL(None).prctl(PR_SET_NAME, title[:15], 0, 0, 0)
time.sleep(600)
