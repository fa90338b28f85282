"""Makes the golden files of this folder with NumPy: pip install numpy ml_dtypes; python3 make.py"""

import pathlib

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).parent
TYPES = ["bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]

# 0 to 5 in two rows, of every type; the same big-endian.
arrays = {t: np.arange(6).reshape(2, 3).astype(t) for t in TYPES}
arrays["bfloat16"] = np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16)
arrays |= {"big/" + t: a.astype(a.dtype.newbyteorder(">")) for t, a in arrays.items() if a.itemsize > 1 and t != "bfloat16"}
arrays["scalar"] = np.float32(7)
arrays["empty"] = np.zeros((3, 0, 2), "f4")
arrays["fortran"] = np.asfortranarray(np.arange(24, dtype="i4").reshape(2, 3, 4))
arrays["vector"] = np.arange(100, dtype="f8")
np.savez(HERE / "stored.npz", **arrays)
np.savez_compressed(HERE / "deflated.npz", **arrays)
