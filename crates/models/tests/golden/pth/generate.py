"""Makes PyTorch checkpoints of every kind that is read, and some that are refused, with
expected.safetensors beside them. Written with PyTorch 2.15.

    python3 generate.py
"""

import os
import struct
from collections import OrderedDict

import torch
from safetensors.torch import save_file
from torch import nn

torch.manual_seed(0)
wide = torch.randn(4, 6)
tensors = OrderedDict(
    whole=torch.randn(2, 3),
    transposed=wide.t(),  # a view with strides
    part=wide[1:3, 2:5],  # a view with an offset
    scalar=torch.tensor(0.25),
    empty=torch.zeros(0, 3),
    half=torch.randn(5).half(),
    brain=torch.randn(5).bfloat16(),
    learnt=nn.Parameter(torch.randn(3)),
)
tensors["norm.num_batches_tracked"] = torch.tensor(7)
expected = {k: v.detach().float().contiguous() for k, v in tensors.items() if "." not in k}
save_file(expected, "expected.safetensors")

torch.save(tensors, "zip.pth")
torch.save(tensors, "protocol_4.pth", pickle_protocol=4)
torch.save({"state_dict": tensors, "epoch": 3}, "nested.pth")
parallel = {f"module.{name}": tensor for name, tensor in tensors.items()}
torch.save({"model_state_dict": parallel, "optimizer_state_dict": {}}, "parallel.pth")
torch.save({"model": tensors, "epoch": 3}, "scripts.pth")


def address(tensor):
    return tensor.untyped_storage()._cdata


def save_old(values, path):
    """The old format names and sorts storages by their addresses. So that the file is always the same,
    `blanks` are taken in this order, and then named by their number."""
    torch.save(values, path, _use_new_zipfile_serialization=False)
    with open(path, "rb") as file:
        content = file.read()
    for number, blank in enumerate(blanks):
        key = str(address(blank)).encode()
        content = content.replace(struct.pack("<I", len(key)) + key, b"\1\0\0\0%d" % number)
    with open(path, "wb") as file:
        file.write(content)


blanks = sorted((torch.zeros(24) for _ in range(4)), key=address)
blanks[0].copy_(wide.flatten())
blanks[1][:6] = tensors["whole"].flatten()
blanks[2][:3] = tensors["learnt"].detach()
old = OrderedDict(
    transposed=blanks[0].view(4, 6).t(),
    part=blanks[0].view(4, 6)[1:3, 2:5],
    whole=blanks[1][:6].view(2, 3),
    learnt=nn.Parameter(blanks[2][:3]),
)
save_old(old, "legacy.pth")
# The moment's numbers lie between those of the weights.
moment, blanks[3][:6] = blanks[1], blanks[1][:6]
old["whole"] = blanks[3][:6].view(2, 3)
save_old({"state_dict": old, "optimizer": {"moment": moment}}, "legacy_nested.pth")
assert all(torch.equal(value, old[key]) for key, value in torch.load("legacy.pth").items())


class Command:
    def __reduce__(self):
        return os.system, ("touch executed",)


torch.save(nn.Linear(2, 2), "module.pth")
torch.save({"weight": torch.ones(2), "note": Command()}, "command.pth")
torch.save({"weight": torch.ones(2, dtype=torch.float64)}, "double.pth")
torch.save({"weight": torch.ones(1).expand(10**6, 10**6)}, "expanded.pth")
torch.save(torch.ones(2), "tensor.pth")
