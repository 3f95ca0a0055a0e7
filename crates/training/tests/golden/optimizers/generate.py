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

optim = torch.optim
CASES = {
    "adam": lambda p: optim.Adam(p, lr=0.05),
    "adam_decay": lambda p: optim.Adam(p, lr=0.05, weight_decay=0.1, eps=1e-3),
    "adamw_default": lambda p: optim.AdamW(p, lr=0.05),
    "adamw": lambda p: optim.AdamW(p, lr=0.05, weight_decay=0.1, betas=(0.8, 0.99)),
    "nadam": lambda p: optim.NAdam(p, lr=0.05),
    "nadam_decay": lambda p: optim.NAdam(p, lr=0.05, weight_decay=0.1, betas=(0.8, 0.99)),
    "rmsprop": lambda p: optim.RMSprop(p, lr=0.05),
    "rmsprop_momentum": lambda p: optim.RMSprop(
        p, lr=0.05, alpha=0.9, momentum=0.9, weight_decay=0.1
    ),
    "sgd": lambda p: optim.SGD(p, lr=0.05),
    "sgd_clipped": lambda p: optim.SGD(p, lr=0.05),
    "sgd_averaged": lambda p: optim.SGD(p, lr=0.05),
    "sgd_momentum": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.1),
    "sgd_nesterov": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
}
LARGEST_NORM, AVERAGE_DECAY = 3.5, 0.5


def moving_average(average, weight, averaged):
    """As tf.train.ExponentialMovingAverage with num_updates; the first update is copied."""
    updates = averaged + 1
    decay = min(AVERAGE_DECAY, (1 + updates) / (10 + updates))
    return decay * average + (1 - decay) * weight


def run(name):
    model = torch.nn.Linear(3, 1, bias=False)
    model.weight.data.copy_(start.T)
    optimizer = CASES[name](model.parameters())
    average = optim.swa_utils.AveragedModel(model, avg_fn=moving_average)
    losses, norms = [], []
    for step in range(STEPS):
        rows = slice(step * BATCH % SAMPLES, step * BATCH % SAMPLES + BATCH)
        loss = (model(features[rows]).flatten() - targets[rows]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        if name == "sgd_clipped":
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), LARGEST_NORM)
            norms.append(norm.item())
        optimizer.step()
        average.update_parameters(model)
        losses.append(loss.item())
    if norms:  # some gradients are clipped, and some are not
        assert min(norms) < LARGEST_NORM < max(norms), norms
    result = average.module if name == "sgd_averaged" else model
    return {"losses": losses, "weight": result.weight.flatten().tolist()}


fixture = {
    "torch": torch.__version__,
    "features": features.flatten().tolist(),
    "targets": targets.tolist(),
    "start": start.flatten().tolist(),
    "cases": {name: run(name) for name in CASES},
}
with open("fixture.json", "w") as file:
    json.dump(fixture, file, indent=1)
    file.write("\n")
