"""A flight recorder that writes what PyTorch 2.15.0 writes with Gloo, as recorded."""

import json
import os
import threading
import time

calls = []
main_thread = threading.current_thread()
# The process groups have no names.
GROUPS = {"": {"desc": "", "name": "", "ranks": "[0]"}}


def record(group, name, operation):
    """Records a call of the process group with the number `group`, which no other one has."""
    number = 1 + sum(call["pg_id"] == group for call in calls)
    entry = {
        "collective_seq_id": number,
        "input_dtypes": ["Float"],
        "input_sizes": [[1]],
        "is_p2p": False,
        "op_id": number,
        "output_dtypes": ["Float"],
        "output_sizes": [[1]],
        "p2p_seq_id": 0,
        "pg_id": group,
        "process_group": [name, "default_pg"],
        "profiling_name": "gloo:" + operation,
        "record_id": len(calls),
        "retired": True,
        "state": "scheduled",
        "thread_id": "140159420457536",
        "thread_name": "python",
        "time_created_ns": time.time_ns(),
        "time_discovered_completed_ns": 0,
        "time_discovered_started_ns": 0,
        "timeout_ms": 1800000,
    }
    calls.append(entry)


def _dump_fr_trace_json(includeCollectives=True, onlyActive=False):
    if os.environ.get("STAND_IN_HANGS") and threading.current_thread() is not main_thread:
        time.sleep(600)
    if os.environ.get("STAND_IN_FAILS"):
        raise RuntimeError("the recorder fails")
    most = int(os.environ.get("TORCH_FR_BUFFER_SIZE", "2000"))
    document = {
        "comm_lib_version": "",
        "entries": calls[-most:],
        "nccl_comm_state": {},
        "pg_config": GROUPS,
        "pg_status": {},
        "version": "2.10",
    }
    return json.dumps(document, separators=(",", ":")).encode()
