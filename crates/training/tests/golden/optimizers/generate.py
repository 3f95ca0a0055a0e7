"""Makes fixture.json: the losses and weights of ten PyTorch updates, by each optimizer.

    python3 generate.py
"""

import json

import torch

torch.manual_seed(0)
SAMPLES, BATCH, STEPS = 12, 6, 10
features = torch.randn(SAMPLES, 3)
targets = torch.randn(SAMPLES)
start = torch.randn(3, 1)

CASES = {
    "adam": lambda p: torch.optim.Adam(p, lr=0.05),
    "adam_decay": lambda p: torch.optim.Adam(p, lr=0.05, weight_decay=0.1, eps=1e-3),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.05, weight_decay=0.1, betas=(0.8, 0.99)),
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05),
    "sgd_momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.1),
    "sgd_nesterov": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
}


def run(make):
    weight = start.clone().requires_grad_()
    optimizer = make([weight])
    losses = []
    for step in range(STEPS):
        rows = slice(step * BATCH % SAMPLES, step * BATCH % SAMPLES + BATCH)
        loss = ((features[rows] @ weight).flatten() - targets[rows]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "weight": weight.flatten().tolist()}


fixture = {
    "torch": torch.__version__,
    "features": features.flatten().tolist(),
    "targets": targets.tolist(),
    "start": start.flatten().tolist(),
    "cases": {name: run(make) for name, make in CASES.items()},
}
with open("fixture.json", "w") as file:
    json.dump(fixture, file, indent=1)
    file.write("\n")
