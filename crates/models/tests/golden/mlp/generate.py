"""Makes fixture.json: a small MLP in PyTorch, its logits, losses and gradients.

    python3 generate.py
"""

import json

import torch
from torch import nn

torch.manual_seed(0)
net = nn.ModuleDict({"layers": nn.ModuleList([nn.Linear(4, 5), nn.Linear(5, 3), nn.Linear(3, 3)])})
features = torch.randn(6, 4)
targets = torch.tensor([0, 2, 1, 1, 0, 2])

hidden = features
for index, layer in enumerate(net["layers"]):
    hidden = layer(hidden if index == 0 else torch.relu(hidden))
losses = nn.functional.cross_entropy(hidden, targets, reduction="none")
losses.sum().backward()


def stored(tensor):
    return {"shape": list(tensor.shape), "values": tensor.detach().flatten().tolist()}


fixture = {
    "torch": torch.__version__,
    "weights": {name: stored(value) for name, value in net.named_parameters()},
    "gradients": {name: stored(value.grad) for name, value in net.named_parameters()},
    "features": stored(features),
    "targets": targets.tolist(),
    "logits": stored(hidden),
    "losses": stored(losses),
}
with open("fixture.json", "w") as file:
    json.dump(fixture, file, indent=1)
    file.write("\n")
