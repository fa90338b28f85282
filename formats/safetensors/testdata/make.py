"""Makes the golden files of this folder with the reference: pip install numpy torch safetensors; python3 make.py"""

import pathlib

import torch
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent
TYPES = ["bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64"]

tensors = {t: torch.arange(6).reshape(2, 3).to(getattr(torch, t)) for t in TYPES}
tensors["scalar"] = torch.tensor(7.0)
tensors["empty"] = torch.zeros(3, 0, 2)
tensors[""] = torch.tensor([1.0])
tensors['quote " back \\ slash / tab \t <é> \u2028 \x01 𝄞'] = torch.tensor([2.0])
save_file(tensors, HERE / "torch.safetensors", metadata={"format": "pt"})

# Of the types weft has, for comparing what is written byte by byte.
weft = {t: v for t, v in tensors.items() if t not in ("int16", "uint16", "uint64")}
save_file(weft, HERE / "weft.safetensors", metadata={"format": 'p "t"'})
save_file({}, HERE / "none.safetensors")
save_file({"attn0": torch.arange(6.0).reshape(1, 1, 2, 3)}, HERE / "attn0.safetensors")
