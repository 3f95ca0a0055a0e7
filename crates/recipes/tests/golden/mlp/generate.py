"""Makes fixture.json: where PyTorch ends on the tutorial's data, from 64 seeds.

The 64 networks are trained side by side, each by its own Adam: the tutorial's loop, batch for batch.

    python3 generate.py
"""

import json

import numpy
import torch
from torch.nn import functional

SEEDS, EPOCHS, BATCH = 64, 500, 40

numpy.random.seed(0)
features = torch.tensor(numpy.random.randn(1000, 20), dtype=torch.float32)
labels = torch.tensor(numpy.random.randint(0, 2, 1000), dtype=torch.float32)

networks = []
for seed in range(SEEDS):
    torch.manual_seed(seed)
    hidden, output = torch.nn.Linear(20, 10), torch.nn.Linear(10, 1)
    networks.append([hidden.weight, hidden.bias, output.weight, output.bias])
parameters = [torch.stack([p.detach() for p in same]).requires_grad_() for same in zip(*networks)]
weight_1, bias_1, weight_2, bias_2 = parameters

adam = torch.optim.Adam(parameters, lr=0.001)
for _ in range(EPOCHS):
    for start in range(0, len(features), BATCH):
        rows = slice(start, start + BATCH)
        hidden = torch.relu(torch.einsum("bi,soi->sbo", features[rows], weight_1) + bias_1[:, None])
        logits = torch.einsum("sbo,spo->sb", hidden, weight_2) + bias_2
        targets = labels[rows].expand(SEEDS, BATCH)
        losses = functional.binary_cross_entropy_with_logits(logits, targets, reduction="none")
        losses = losses.mean(1)
        adam.zero_grad()
        losses.sum().backward()
        adam.step()

losses = losses.detach()
fixture = {
    "torch": torch.__version__,
    "numpy": numpy.__version__,
    "seeds": SEEDS,
    "lowest": losses.min().item(),
    "mean": losses.mean().item(),
    "highest": losses.max().item(),
    "deviation": losses.std().item(),
}
with open("fixture.json", "w") as file:
    json.dump(fixture, file, indent=1)
    file.write("\n")
