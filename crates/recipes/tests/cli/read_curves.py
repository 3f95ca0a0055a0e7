"""Prints the curves of a run as TensorBoard reads them: {tag: [[step, value], ..], ..}.

    python3 read_curves.py RUN/tb
"""

import json
import sys
import types

# With this module there, TensorBoard does not load TensorFlow, which takes seconds.
sys.modules["tensorboard.compat.notf"] = types.ModuleType("notf")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

curves = EventAccumulator(sys.argv[1]).Reload()
tags = curves.Tags()["scalars"]
print(json.dumps({tag: [[event.step, event.value] for event in curves.Scalars(tag)] for tag in tags}))
