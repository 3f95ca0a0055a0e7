"""Writes the files beside this one: one small array as NumPy saves it in many ways.

    python3 generate.py
"""

import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).parent
ARRAY = np.array([[0, 1], [5, 3], [2, 250]])


def save(name, array, version=None):
    with open(FOLDER / f"{name}.npy", "wb") as file:
        np.lib.format.write_array(file, array, version=version)


FOLDER.mkdir(exist_ok=True)
for dtype in ["u1", "<i4", "<i8", "<f4", "<f8"]:
    save(dtype.strip("<"), ARRAY.astype(dtype))
save("version_2", ARRAY.astype("<f4"), version=(2, 0))
save("version_3", ARRAY.astype("<f4"), version=(3, 0))
save("three_dimensions", ARRAY.astype("<f4").reshape(3, 2, 1))
save("targets", np.array([7, -1, 7]))

save("fortran_order", np.asfortranarray(ARRAY.astype("<f4")))
save("big_endian", ARRAY.astype(">f4"))
save("bool", ARRAY.astype(bool))
save("objects", ARRAY.astype(object))
save("records", np.array([(0, 1.0)], dtype=[("a", "<i4"), ("b", "<f4")]))
save("scalar", np.array(1.5))
