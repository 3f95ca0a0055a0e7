"""Loads our files into PyTorch's own layers, strictly, and prints the largest difference of logits.

    python3 load_in_pytorch.py vgg|lstm FILE.safetensors

The file holds the weights, and beside them `inputs` and `logits`.
"""

import sys

import torch
from safetensors.torch import load_file
from torch import nn


def vgg():
    features, inputs = [], 3
    for outputs in [8, 12]:
        features += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs)]
        features += [nn.ReLU(), nn.MaxPool2d(2)]
        inputs = outputs
    head = [nn.Linear(12 * 2 * 2, 16), nn.ReLU(), nn.Dropout(), nn.Linear(16, 4)]
    parts = {"features": nn.Sequential(*features), "classifier": nn.Sequential(*head)}
    return nn.ModuleDict(parts), lambda net, images: net["classifier"](
        net["features"](images).flatten(1)
    )


def lstm():
    parts = {
        "embedding": nn.Embedding(11, 4),
        "lstm": nn.LSTM(4, 5, 2, batch_first=True),
        "dense": nn.Linear(5, 11),
    }
    return nn.ModuleDict(parts), lambda net, tokens: net["dense"](
        net["lstm"](net["embedding"](tokens.long()))[0]
    )


network, forward = {"vgg": vgg, "lstm": lstm}[sys.argv[1]]()
tensors = load_file(sys.argv[2])
inputs, logits = tensors.pop("inputs"), tensors.pop("logits")
network.load_state_dict(tensors, strict=True)
with torch.no_grad():
    found = forward(network.eval(), inputs)
print((found - logits).abs().max().item())
