"""Makes fixture.json: results and gradients of PyTorch's operations, computed in float64.

    python3 generate.py

The gradients are those of the sum of each output times a tensor `of_<output>`.
"""

import itertools
import json

import torch
import torch.nn.functional as F

torch.manual_seed(0)


def randn(*shape):
    """Values that an f32 holds exactly."""
    return torch.randn(*shape).double()


def gradients(outputs, parents):
    """Adds random gradients of the outputs, and those of the parents that follow from them."""
    case = {f"of_{name}": randn(*output.shape) for name, output in outputs.items()}
    loss = sum((output * case[f"of_{name}"]).sum() for name, output in outputs.items())
    names = [name for name, parent in parents.items() if parent is not None]
    for name, value in zip(names, torch.autograd.grad(loss, [parents[name] for name in names])):
        case[f"gradient_{name}"] = value
    return case | outputs | {name: parents[name] for name in names}


def batch_norm2d(stored, residual, rectified):
    channels = 5
    parents = {
        "input": randn(3, channels, 4, 3) * 2 + 1,
        "scale": randn(channels),
        "shift": randn(channels),
        "residual": randn(3, channels, 4, 3) if residual else None,
    }
    for parent in parents.values():
        if parent is not None:
            parent.requires_grad_()
    mean, variance = torch.zeros(channels).double(), torch.ones(channels).double()
    if stored:
        mean, variance = randn(channels), randn(channels).square() + 0.5
    # A momentum of one: the running statistics are those of the batch.
    output = F.batch_norm(
        parents["input"], mean, variance, parents["scale"], parents["shift"], not stored, 1.0, 1e-3
    )
    if residual:
        output = output + parents["residual"]
    if rectified:
        output = output.relu()
    return gradients({"output": output}, parents) | {"mean": mean, "variance": variance}


def lstm(batch, time, inputs, hidden, state):
    layer = torch.nn.LSTM(inputs, hidden, batch_first=True).double()
    for weight in layer.parameters():
        weight.data = weight.data.float().double()
    parents = {
        "input": randn(batch, time, inputs).requires_grad_(),
        "input_weight": layer.weight_ih_l0,
        "hidden_weight": layer.weight_hh_l0,
        "bias": layer.bias_ih_l0,
        "first_cell": randn(batch, hidden).requires_grad_() if state else None,
        "first_hidden": randn(batch, hidden).requires_grad_() if state else None,
    }
    # One bias here, the sum of PyTorch's two.
    layer.bias_hh_l0.data.zero_()
    first = (parents["first_hidden"][None], parents["first_cell"][None]) if state else None
    outputs, (last_hidden, last_cell) = layer(parents["input"], first)
    outputs = {"outputs": outputs, "cell": last_cell[0], "hidden": last_hidden[0]}
    return gradients(outputs, parents)


def linear(rectified):
    parents = {"input": randn(4, 5), "weight": randn(5, 3), "bias": randn(3)}
    for parent in parents.values():
        parent.requires_grad_()
    output = parents["input"] @ parents["weight"] + parents["bias"]
    return gradients({"output": output.relu() if rectified else output}, parents)


def embedding():
    table = randn(7, 3).requires_grad_()
    indices = torch.randint(5, (2, 6))
    return gradients({"output": F.embedding(indices, table)}, {"table": table}) | {
        "indices": indices
    }


def embedding_mean():
    layer = torch.nn.EmbeddingBag(7, 3, mode="mean", padding_idx=0, dtype=torch.float64)
    layer.weight.data = randn(7, 3)
    indices = torch.randint(5, (4, 6))
    indices[1] = 0
    return gradients({"output": layer(indices)}, {"table": layer.weight}) | {"indices": indices}


def cross_entropy():
    logits = (randn(6, 5) * 4).float().double().requires_grad_()
    targets = torch.randint(5, (6,))
    losses = F.cross_entropy(logits, targets, reduction="none")
    return gradients({"losses": losses}, {"logits": logits}) | {"targets": targets}


def max_pool2d(size, kernel, stride, padding):
    image = randn(2, 2, *size).requires_grad_()
    output = F.max_pool2d(image, kernel, stride, padding)
    tensors = plain(gradients({"output": output}, {"input": image}))
    return {"kernel": kernel, "stride": stride, "padding": padding, "tensors": tensors}


def conv2d(input, outputs, kernel, stride, padding, rectified, pooled):
    parents = {
        "input": randn(*input),
        "weight": randn(outputs, input[1], *kernel),
        "bias": randn(outputs),
    }
    for parent in parents.values():
        parent.requires_grad_()
    output = F.conv2d(*parents.values(), stride, padding)
    if rectified:
        output = output.relu()
    if pooled:
        output = F.max_pool2d(output, 2)
    return {
        "stride": stride,
        "padding": padding,
        "rectified": rectified,
        "pooled": pooled,
        "tensors": plain(gradients({"output": output}, parents)),
    }


def plain(case):
    return {
        name: {
            "shape": list(value.shape),
            "values": [float(f"{number:.9g}") for number in value.flatten().tolist()],
        }
        for name, value in case.items()
    }


flags = [False, True]
none, one, two = [0, 0], [1, 1], [2, 2]
fixture = {
    "torch": torch.__version__,
    "batch_norm2d": [
        {"stored": s, "residual": a, "rectified": r, "tensors": plain(batch_norm2d(s, a, r))}
        for s, a, r in itertools.product(flags, flags, flags)
    ],
    "lstm": [
        plain(lstm(3, 4, 5, 6, True)),
        plain(lstm(2, 3, 4, 9, False)),
        plain(lstm(1, 1, 3, 8, True)),
    ],
    "linear": [{"rectified": r, "tensors": plain(linear(r))} for r in flags],
    "embedding": plain(embedding()),
    "cross_entropy": plain(cross_entropy()),
    "max_pool2d": [
        max_pool2d([5, 6], two, two, none),
        max_pool2d([6, 7], [3, 3], two, one),
        max_pool2d([5, 5], [3, 2], [1, 2], [1, 0]),
    ],
    "conv2d": [
        conv2d([2, 1, 6, 7], 3, [3, 3], one, none, True, False),
        conv2d([1, 16, 6, 5], 16, [3, 3], one, one, True, False),
        conv2d([2, 3, 7, 6], 4, [3, 3], two, one, False, False),
        conv2d([2, 2, 7, 8], 3, [3, 3], one, none, True, True),
        conv2d([1, 16, 6, 6], 16, [3, 3], one, one, True, True),
        conv2d([1, 4, 8, 7], 6, [3, 2], [1, 2], [2, 1], False, False),
    ],
    "embedding_mean": plain(embedding_mean()),
}
with open("fixture.json", "w") as file:
    json.dump(fixture, file)
    file.write("\n")
