"""Trains the recipe `lstm-char` in PyTorch, from the same initial weights, on the same batches, by
the same settings, and prints the losses beside those of a run of ours.

    recipes train lstm-char --set data.path=TEXT --max-steps 1 --set optimizer.learning_rate=1e-30 --run-dir initial
    recipes train lstm-char --set data.path=TEXT --set training.epochs=N --run-dir run
    python3 lstm_char_twin.py TEXT initial run

A step at a learning rate of 1e-30 changes no weight, so `initial` holds those that `run` began with.
What this printed stands in `lstm_char.toml`. Needs torch, numpy and safetensors.
"""

import csv
import json
import math
import sys
import time
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from torch import nn

ROWS, LENGTH = 64, 64
LEARNING_RATE, WEIGHT_DECAY, CLIP_NORM = 5e-3, 0.01, 1.0

text_path, initial, run = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
metrics = list(csv.DictReader((run / "metrics.csv").open()))
epochs = len(metrics)
torch.set_num_threads(json.loads((run / "environment.json").read_text()).get("threads", 2))

with safe_open(initial / "model.safetensors", framework="pt") as file:
    weights = {name: file.get_tensor(name) for name in file.keys()}
    description = json.loads(file.metadata()["recipes"])
vocabulary = description["preprocessing"]["characters"]


def held_out_rows(ids):
    """The rows by which the least of a text stays out, as `measure/texts.rs` chooses them."""
    windows = lambda rows: rows * ((len(ids) - 1) // rows // LENGTH)
    return max(range(ROWS // 2, ROWS + 1), key=lambda rows: (windows(rows), rows))


def streams(ids, rows=ROWS):
    """Batches of inputs and targets, [rows, LENGTH] each."""
    length = (len(ids) - 1) // rows
    starts = np.arange(rows)[:, None] * length + np.arange(LENGTH)
    for batch in range(length // LENGTH):
        at = starts + batch * LENGTH
        yield torch.from_numpy(ids[at]), torch.from_numpy(ids[at + 1])


class TextLstm(nn.Module):
    def __init__(self, tokens, embedding, hidden):
        super().__init__()
        self.embedding = nn.Embedding(tokens, embedding)
        self.lstm = nn.LSTM(embedding, hidden, batch_first=True)
        self.dense = nn.Linear(hidden, tokens)

    def forward(self, inputs, state):
        outputs, state = self.lstm(self.embedding(inputs), state)
        return self.dense(outputs), state


text = text_path.read_text()
place = {token: index for index, token in enumerate(vocabulary)}
ids = np.array([place[character] for character in text if character in place])
train, held_out = ids[: int(len(text) * 0.9)], ids[int(len(text) * 0.9) :]

embedding, hidden = (weights[name].shape[1] for name in ("embedding.weight", "lstm.weight_hh_l0"))
net = TextLstm(len(vocabulary), embedding, hidden)
net.load_state_dict(weights)
matrices = [weight for weight in net.parameters() if weight.dim() > 1]
vectors = [weight for weight in net.parameters() if weight.dim() == 1]
groups = [
    {"params": matrices, "weight_decay": WEIGHT_DECAY},
    {"params": vectors, "weight_decay": 0.0},
]
optimizer = torch.optim.AdamW(groups, lr=LEARNING_RATE)
steps = epochs * sum(1 for _ in streams(train))
schedule = torch.optim.lr_scheduler.OneCycleLR(
    optimizer, LEARNING_RATE, total_steps=steps, cycle_momentum=False
)
loss_of = nn.CrossEntropyLoss()


def measure():
    losses, state = [], None
    with torch.no_grad():
        for inputs, targets in streams(held_out, held_out_rows(held_out)):
            logits, state = net(inputs, state)
            losses.append(loss_of(logits.flatten(0, 1), targets.flatten()).item())
    return sum(losses) / len(losses)


for row in metrics:
    began, losses, state = time.perf_counter(), [], None
    for inputs, targets in streams(train):
        logits, state = net(inputs, state)
        state = tuple(part.detach() for part in state)
        loss = loss_of(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), CLIP_NORM)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    seconds = time.perf_counter() - began
    theirs, ours = measure(), float(row["validation_loss"])
    train_loss = sum(losses) / len(losses)
    print(
        f"epoch {row['epoch']}: train {train_loss:.4f} (ours {float(row['train_loss']):.4f}), "
        f"validation {theirs:.4f} (ours {ours:.4f}, {100 * (ours / theirs - 1):+.2f} %), {seconds:.0f} s"
    )
    assert math.isclose(theirs, ours, rel_tol=0.01), "more than 1 % apart"
