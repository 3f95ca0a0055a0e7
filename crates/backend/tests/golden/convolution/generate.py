"""Makes fixture.json: convolutions with ReLU and pooling in PyTorch, their outputs and gradients.

    python3 generate.py
"""

import json

import torch
from torch.nn import functional

torch.manual_seed(0)
torch.set_num_threads(1)


def stored(tensor):
    return {"shape": list(tensor.shape), "values": [round(v, 7) for v in tensor.flatten().tolist()]}


def leaf(*shape):
    # Few digits, so that the file is small and the values exact in f32.
    return (torch.randn(shape) * 64).round().div(64).requires_grad_()


def case(batch, inputs, outputs, size, kernel, stride, padding, dilation, groups, after):
    x = leaf(batch, inputs, *size)
    w = leaf(outputs, inputs // groups, *kernel)
    b = leaf(outputs)
    y = functional.conv2d(x, w, b, stride, padding, dilation, groups)
    if after != "nothing":
        y = torch.relu(y)
    if after == "pool":
        y = functional.max_pool2d(y, 2)
    gradient = leaf(*y.shape).detach()
    y.backward(gradient)
    return {
        "stride": stride, "padding": padding, "dilation": dilation, "groups": groups, "after": after,
        "input": stored(x), "weight": stored(w), "bias": stored(b), "gradient": stored(gradient),
        "output": stored(y), "gradients": [stored(v.grad) for v in (x, w, b)],
    }


def pooled(size, kernel, stride, padding):
    x = leaf(2, 2, *size)
    y = functional.max_pool2d(x, kernel, stride, padding)
    gradient = leaf(*y.shape).detach()
    y.backward(gradient)
    return {
        "kernel": kernel, "stride": stride, "padding": padding, "input": stored(x),
        "gradient": stored(gradient), "output": stored(y), "gradients": [stored(x.grad)],
    }


one, none = [1, 1], [0, 0]
fixture = {
    "torch": torch.__version__,
    "convolutions": [
        case(2, 1, 3, [6, 7], [3, 3], one, none, one, 1, "relu"),
        case(1, 16, 16, [6, 5], [3, 3], one, one, one, 1, "relu"),
        case(2, 3, 4, [7, 6], [3, 3], [2, 2], one, one, 1, "nothing"),
        case(1, 4, 6, [8, 7], [3, 2], [1, 2], [2, 1], [2, 1], 2, "nothing"),
        case(2, 2, 3, [7, 8], [3, 3], one, none, one, 1, "pool"),
        case(1, 16, 16, [6, 6], [3, 3], one, one, one, 1, "pool"),
    ],
    "pools": [
        pooled([5, 6], [2, 2], [2, 2], [0, 0]),
        pooled([6, 7], [3, 3], [2, 2], [1, 1]),
        pooled([5, 5], [3, 2], [1, 2], [1, 0]),
    ],
}
with open("fixture.json", "w") as file:
    json.dump(fixture, file)
    file.write("\n")
