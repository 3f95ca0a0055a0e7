"""What a peer reads and prints: the same for every framework.

`case.json`, `weights.safetensors` and `batches.safetensors` lie in the folder that the program
names. The peer prints a line of JSON when it is ready, and one for each line that it is sent.
"""

import json
import sys
import time
from pathlib import Path

from safetensors.numpy import load_file


def read(folder):
    """The case, the initial weights by name, and the batches as pairs of inputs and targets."""
    folder = Path(folder)
    case = json.loads((folder / "case.json").read_text())
    batches = load_file(folder / "batches.safetensors")
    pairs = list(zip(batches["inputs"], batches["targets"]))
    return case, load_file(folder / "weights.safetensors"), pairs


def read_validation(folder):
    """Inputs and targets of the split on which accuracy is measured."""
    split = load_file(Path(folder) / "validation.safetensors")
    return split["inputs"], split["targets"]


def peak_memory_bytes():
    """Peak memory of this process; none where the system does not report it."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        return None


def process_memory():
    return dict(peak_memory_bytes=peak_memory_bytes())


def say(**answer):
    print(json.dumps(answer), flush=True)


def serve(version, losses, steps, run, synchronise=lambda: None, memory=process_memory):
    """Answers until there are no more lines: `round` asks for the time of `steps` steps, `round N`
    for that of N.

    `run(steps)` returns a function that runs them; what is not timed is done before. `synchronise`
    waits for the device before the clock starts and before it stops. Batches are on the device from
    the beginning; ours gathers them from data that are there, within its time.
    """
    say(version=version, losses=losses)
    for line in sys.stdin:
        asked = line.split()[1:]
        count = int(asked[0]) if asked else steps
        timed = run(count)
        synchronise()
        start = time.perf_counter()
        timed()
        synchronise()
        seconds = (time.perf_counter() - start) / count
        say(seconds=seconds, **memory())
