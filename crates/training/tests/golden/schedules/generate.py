"""Makes fixture.json: the learning rates of PyTorch's schedulers, step by step.

    python3 generate.py
"""

import json

import torch
from torch.optim import lr_scheduler as schedulers

BASE, STEPS, STEPS_PER_EPOCH, WARMUP = 0.1, 60, 6, 7
# Validation losses: a fall, a standstill, a fall below the threshold, a rise, a fall.
LOSSES = [1.0, 0.8, 0.8, 0.81, 0.7999999, 0.9, 0.9, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6]
# Validation accuracies: a rise, a standstill, a rise below the threshold, a fall, a rise.
ACCURACIES = [0.1, 0.5, 0.5, 0.49, 0.50001, 0.4, 0.4, 0.9, 0.9, 0.9, 0.90001, 0.9, 0.9, 0.9]


def warm(optimizer, rest):
    rise = schedulers.LinearLR(optimizer, 1 / (WARMUP + 1), 1.0, total_iters=WARMUP)
    return schedulers.SequentialLR(optimizer, [rise, rest], milestones=[WARMUP])


def line(optimizer, end, steps):
    return schedulers.LinearLR(optimizer, 1.0, end / BASE, total_iters=steps)


BY_STEP = {
    "cosine": lambda o: schedulers.CosineAnnealingLR(o, STEPS),
    "warm_cosine": lambda o: warm(
        o, schedulers.CosineAnnealingLR(o, STEPS - WARMUP, eta_min=0.001)
    ),
    "warm_constant": lambda o: warm(o, schedulers.ConstantLR(o, factor=1.0)),
    "linear": lambda o: line(o, 0.0, STEPS),
    "warm_linear": lambda o: warm(o, line(o, 0.001, STEPS - WARMUP)),
    "one_cycle": lambda o: schedulers.OneCycleLR(o, BASE, STEPS, cycle_momentum=False),
    "one_cycle_early": lambda o: schedulers.OneCycleLR(
        o, BASE, STEPS, pct_start=0.1, div_factor=10, final_div_factor=100, cycle_momentum=False
    ),
}
BY_EPOCH = {
    "step": lambda o: schedulers.MultiStepLR(o, milestones=[3, 7], gamma=0.2),
    "exponential": lambda o: schedulers.ExponentialLR(o, gamma=0.9),
}


def optimizer():
    return torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=BASE)


def rates(make, every):
    own = optimizer()
    scheduler = make(own)
    rates = []
    for step in range(STEPS):
        rates.append(own.param_groups[0]["lr"])
        own.step()
        if (step + 1) % every == 0:
            scheduler.step()
    return rates


def plateau(mode, values):
    own = optimizer()
    scheduler = schedulers.ReduceLROnPlateau(own, mode, factor=0.2, patience=2, min_lr=0.001)
    rates = []
    for value in values:
        rates.append(own.param_groups[0]["lr"])
        own.step()
        scheduler.step(value)
    return rates


fixture = {
    "torch": torch.__version__,
    "base": BASE,
    "steps": STEPS,
    "steps_per_epoch": STEPS_PER_EPOCH,
    "cases": {name: rates(make, 1) for name, make in BY_STEP.items()}
    | {name: rates(make, STEPS_PER_EPOCH) for name, make in BY_EPOCH.items()},
    "plateaus": {
        "loss": {"values": LOSSES, "rates": plateau("min", LOSSES)},
        "accuracy": {"values": ACCURACIES, "rates": plateau("max", ACCURACIES)},
    },
}
with open("fixture.json", "w") as file:
    json.dump(fixture, file, indent=1)
    file.write("\n")
