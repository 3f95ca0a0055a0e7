"""Writes numpy_legacy.json beside this file: checksums of NumPy's legacy random stream.

    python3 numpy_legacy.py

Each case draws `randn(normals)`, `randint(0, bound, integers)` and one `random_sample()` after
`numpy.random.seed(seed)`. Checksums are SHA-256 of little-endian float64 and int64 bytes. The first
case is the tutorial's: 1000 samples of 20 features and their labels.
"""

import hashlib
import json
import pathlib

import numpy as np

CASES = [
    {"seed": 0, "normals": 20_000, "integers": 1000, "bound": 2},
    {"seed": 7, "normals": 15, "integers": 100, "bound": 10},  # odd: a normal value is left over
    {"seed": 2**32 - 1, "normals": 1, "integers": 5, "bound": 1},  # one value: nothing is drawn
]


def draw(case):
    np.random.seed(case["seed"])
    normals = np.random.randn(case["normals"]).astype("<f8")
    integers = np.random.randint(0, case["bound"], case["integers"]).astype("<i8")
    return case | {
        "first_normal": float(normals[0]),
        "normals_sha256": hashlib.sha256(normals.tobytes()).hexdigest(),
        "integers_sha256": hashlib.sha256(integers.tobytes()).hexdigest(),
        "next_uniform": float(np.random.random_sample()),
    }


golden = {"numpy": np.__version__, "cases": [draw(case) for case in CASES]}
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps(golden, indent=2) + "\n")
