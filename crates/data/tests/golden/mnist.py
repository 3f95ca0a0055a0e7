"""Writes mnist.json beside this file: label counts and checksums of MNIST's first images.

    python3 mnist.py [FOLDER]

FOLDER holds the four files of the data set as they are published, packed by gzip; without it they
are looked for where the tests look, in ../shared/data beside the repository. They are read
with the standard library alone; checksums are SHA-256 of the 784 bytes of an image.
"""

import collections
import gzip
import hashlib
import json
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = pathlib.Path(sys.argv[1]) if sys.argv[1:] else HERE.parents[4] / "shared/data/mnist"


def read(name, dimensions):
    """The dimensions and the bytes of an IDX file."""
    content = gzip.decompress((FOLDER / f"{name}-idx{dimensions}-ubyte.gz").read_bytes())
    magic, *sizes = struct.unpack_from(f">{1 + dimensions}I", content)
    assert magic == 0x800 + dimensions, name
    return sizes, content[4 + 4 * dimensions :]


def label_counts(split):
    (count,), labels = read(f"{split}-labels", 1)
    assert count == len(labels)
    counts = collections.Counter(labels)
    return [counts[label] for label in range(10)]


(_, height, width), pixels = read("train-images", 3)
images = [pixels[i * height * width : (i + 1) * height * width] for i in range(10)]
golden = {
    "train_labels": label_counts("train"),
    "test_labels": label_counts("t10k"),
    "first_images_sha256": [hashlib.sha256(image).hexdigest() for image in images],
}
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps(golden, indent=2) + "\n")
