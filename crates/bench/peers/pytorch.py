"""PyTorch in eager mode: pytorch.py FOLDER [channels-last]"""

import sys

import exchange
import torch
from torch import nn
from torch.nn import functional

case, weights, batches = exchange.read(sys.argv[1])
layout = torch.channels_last if "channels-last" in sys.argv else torch.contiguous_format
torch.set_num_threads(case["threads"])
torch.set_flush_denormal(True)


class Sequence(nn.Sequential):
    """Layers under the names of the weights' file."""

    def __init__(self, **layers):
        super().__init__()
        for name, layer in layers.items():
            self.add_module(name, layer)


class Mlp(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        widths = [sizes["inputs"], *sizes["hidden"], sizes["outputs"]]
        self.layers = nn.ModuleList(map(nn.Linear, widths, widths[1:]))

    def forward(self, features):
        for layer in self.layers[:-1]:
            features = functional.relu(layer(features))
        return self.layers[-1](features)


def cnn(sizes):
    side = ((sizes["size"] - 2) // 2 - 2) // 2 - 2
    return Sequence(
        conv1=nn.Conv2d(sizes["channels"], 32, 3), relu1=nn.ReLU(), pool1=nn.MaxPool2d(2),
        conv2=nn.Conv2d(32, 64, 3), relu2=nn.ReLU(), pool2=nn.MaxPool2d(2),
        conv3=nn.Conv2d(64, 64, 3), relu3=nn.ReLU(), flatten=nn.Flatten(),
        dense1=nn.Linear(64 * side * side, 64), relu4=nn.ReLU(),
        dense2=nn.Linear(64, sizes["classes"]),
    )


def simplenet(sizes):
    side = ((sizes["size"] - 2) // 2 - 2) // 2
    return Sequence(
        conv1=nn.Conv2d(sizes["channels"], 6, 3), relu1=nn.ReLU(), pool1=nn.MaxPool2d(2),
        conv2=nn.Conv2d(6, 16, 3), relu2=nn.ReLU(), pool2=nn.MaxPool2d(2), flatten=nn.Flatten(),
        fc1=nn.Linear(16 * side * side, 120), relu3=nn.ReLU(),
        fc2=nn.Linear(120, 84), relu4=nn.ReLU(), fc3=nn.Linear(84, sizes["classes"]),
    )


class Block(nn.Module):
    """Two convolutions, and what came in added to what goes out (the paper's option A)."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.stride, self.added = (1, 0) if inputs == outputs else (2, outputs - inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, self.stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)

    def forward(self, maps):
        past = maps
        if self.stride > 1:
            before = self.added // 2
            past = functional.pad(maps[:, :, ::2, ::2], (0, 0, 0, 0, before, self.added - before))
        maps = functional.relu(self.bn1(self.conv1(maps)))
        return functional.relu(self.bn2(self.conv2(maps)) + past)


def resnet(sizes):
    def group(inputs, outputs):
        blocks = (sizes["depth"] - 2) // 6
        return nn.Sequential(*(Block(outputs if k else inputs, outputs) for k in range(blocks)))

    return Sequence(
        conv1=nn.Conv2d(sizes["channels"], 16, 3, 1, 1, bias=False), bn1=nn.BatchNorm2d(16),
        relu=nn.ReLU(), layer1=group(16, 16), layer2=group(16, 32), layer3=group(32, 64),
        pool=nn.AdaptiveAvgPool2d(1), flatten=nn.Flatten(), fc=nn.Linear(64, sizes["classes"]),
    )


def vgg(sizes):
    features, head = sizes["features"], sizes["head"]
    stages, inputs = [], features["channels"]
    for block in features["blocks"]:
        for outputs in block:
            stages.append(nn.Conv2d(inputs, outputs, 3, padding=1))
            stages += [nn.BatchNorm2d(outputs)] * features["batch_norm"]
            stages.append(nn.ReLU())
            inputs = outputs
        stages.append(nn.MaxPool2d(2))
    if head is None:
        return Sequence(features=nn.Sequential(*stages))
    layers, inputs = [], head["inputs"]
    for outputs in head["hidden"]:
        layers += [nn.Linear(inputs, outputs), nn.ReLU(), nn.Dropout(head["dropout"])]
        inputs = outputs
    layers.append(nn.Linear(inputs, head["outputs"]))
    return Sequence(
        features=nn.Sequential(*stages), flatten=nn.Flatten(), classifier=nn.Sequential(*layers)
    )


class TextLstm(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.embedding = nn.Embedding(sizes["vocabulary"], sizes["embedding"])
        self.lstm = nn.LSTM(sizes["embedding"], sizes["hidden"], sizes["layers"], batch_first=True)
        self.dense = nn.Linear(sizes["hidden"], sizes["vocabulary"])

    def forward(self, tokens):
        outputs, _ = self.lstm(self.embedding(tokens))
        return self.dense(outputs[:, -1])


networks = dict(mlp=Mlp, cnn=cnn, simplenet=simplenet, resnet=resnet, vgg=vgg, lstm=TextLstm)


def fresh():
    """The network with its initial weights."""
    network = networks[case["architecture"]["network"]](case["architecture"])
    tensors = {name: torch.from_numpy(weight.copy()) for name, weight in weights.items()}
    missing, unused = network.load_state_dict(tensors, strict=False)
    assert not unused, unused
    for name in missing:
        if "num_batches_tracked" not in name:
            # Keras's LSTM has one bias; the second stays zero here.
            assert "bias_hh" in name, name
            nn.init.zeros_(network.get_parameter(name)).requires_grad_(False)
    return network.to(memory_format=layout)


def tensor(array, classes=False):
    values = torch.from_numpy(array)
    if values.dim() == 4:
        return values.contiguous(memory_format=layout)
    return values.long() if classes else values


text = case["architecture"]["network"] == "lstm"
binary = case["loss"] == "binary_cross_entropy"
batches = [(tensor(inputs, text), tensor(targets, not binary)) for inputs, targets in batches]


def loss_of(logits, targets):
    if binary:
        return functional.binary_cross_entropy_with_logits(logits.flatten(), targets)
    return functional.cross_entropy(logits, targets)


def optimizer_of(network):
    settings = case["optimizer"]
    rate, decay = settings["learning_rate"], settings["weight_decay"]
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in trained if p.dim() > 1 or settings["decay_biases"]]},
        {"params": [p for p in trained if p.dim() == 1 and not settings["decay_biases"]],
         "weight_decay": 0.0},
    ]
    if settings["kind"] == "sgd":
        momentum, nesterov = settings["momentum"], settings["nesterov"]
        return torch.optim.SGD(groups, rate, momentum, weight_decay=decay, nesterov=nesterov)
    betas = settings["beta_1"], settings["beta_2"]
    return torch.optim.Adam(groups, rate, betas, settings["epsilon"], weight_decay=decay)


def train(steps):
    network = fresh()
    optimizer = optimizer_of(network)

    def run():
        losses = []
        for step in range(steps):
            inputs, targets = batches[step % len(batches)]
            loss = loss_of(network(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return [loss.item() for loss in losses]

    return run


def infer(steps):
    network = fresh().eval()

    def run():
        with torch.inference_mode():
            for step in range(steps):
                outputs = network(batches[step % len(batches)][0])
        # The mean square stands for the outputs in the comparison.
        return [outputs.square().mean().item()]

    return run


def reach(_):
    """Trains until a share of the validation split is classified rightly."""
    goal, network = case["goal"], fresh()
    optimizer = optimizer_of(network)
    inputs, targets = (torch.cat(tensors) for tensors in zip(*batches))
    held_out, labels = exchange.read_validation(sys.argv[1])
    held_out, labels = tensor(held_out), tensor(labels, True)
    size = len(batches[0][0])
    generator = torch.Generator().manual_seed(0)

    def accuracy():
        network.eval()
        with torch.inference_mode():
            hits = [(network(x).argmax(1) == y).sum().item()
                    for x, y in zip(held_out.split(256), labels.split(256))]
        network.train()
        return sum(hits) / len(labels)

    def run():
        rates = iter(goal["learning_rates"])
        order = torch.arange(len(inputs))
        for _ in range(goal["epochs"]):
            for rows in order.split(size):
                rate = next(rates)
                for group in optimizer.param_groups:
                    group["lr"] = rate
                optimizer.zero_grad()
                loss_of(network(inputs[rows]), targets[rows]).backward()
                optimizer.step()
            if accuracy() >= goal["accuracy"]:
                return
            order = torch.randperm(len(inputs), generator=generator)
        raise SystemExit("the accuracy was not reached")

    return run


run = infer if case["task"] == "infer" else train
losses = run(case["compared"])()
timed = reach if case["task"] == "reach" else run
exchange.serve(torch.__version__, losses, case["steps"], timed)
