"""What a peer reads and says: the same for every framework.

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
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def say(**answer):
    print(json.dumps(answer), flush=True)


def serve(version, losses, steps, run):
    """Answers until there are no more lines: each asks for the time of `steps` steps.

    `run(steps)` returns a function that runs them, with all that is not to be timed done before.
    """
    say(version=version, losses=losses)
    for _ in sys.stdin:
        timed = run(steps)
        start = time.perf_counter()
        timed()
        seconds = (time.perf_counter() - start) / steps
        say(seconds=seconds, peak_memory_bytes=peak_memory_bytes())
