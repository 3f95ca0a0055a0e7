"""Makes fixture.safetensors: a small multi-layer perceptron. Written with PyTorch 2.15.

    python3 generate.py
"""

import sys

import torch
from torch import nn

sys.path.insert(0, "..")
import golden  # noqa: E402

golden.seed()
net = nn.ModuleDict({"layers": nn.ModuleList([nn.Linear(4, 5), nn.Linear(5, 3), nn.Linear(3, 3)])})


def forward(net, hidden):
    for index, layer in enumerate(net["layers"]):
        hidden = layer(hidden if index == 0 else torch.relu(hidden))
    return hidden


targets = torch.tensor([0, 2, 1, 1, 0, 2])
golden.write("fixture.safetensors", net, torch.randn(6, 4), targets, golden.sgd, forward)
