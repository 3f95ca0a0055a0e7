"""PyTorch, in eager mode unless compiled: pytorch.py FOLDER [channels-last | compiled | bf16]"""

import contextlib
import sys

import exchange
import torch
from torch import nn
from torch.nn import functional

case, weights, batches = exchange.read(sys.argv[1])
layout = torch.channels_last if "channels-last" in sys.argv else torch.contiguous_format
torch.set_num_threads(case["threads"])
torch.set_flush_denormal(True)
device = torch.device(case["device"])
on_gpu = device.type == "cuda"
compiled, lowered = "compiled" in sys.argv, "bf16" in sys.argv
fused = True if compiled else None  # None: PyTorch's own choice
torch.backends.cudnn.benchmark = True  # looks for the fastest convolutions, as ours does


def fast(allowed):
    """Whether products on a GPU are of TF32, as ours are on CUDA, or of f32."""
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


def synchronise():
    if on_gpu:
        torch.cuda.synchronize()


def memory():
    """On a GPU what is reserved there, as ours reports."""
    if not on_gpu:
        return exchange.process_memory()
    return dict(peak_memory_bytes=torch.cuda.max_memory_reserved(),
                allocated_memory_bytes=torch.cuda.max_memory_allocated())


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
        self.in_order = tuple(self.layers)  # a slice of a ModuleList is a new one each time

    def forward(self, features):
        *hidden, last = self.in_order
        for layer in hidden:
            features = functional.relu(layer(features))
        return last(features)


def cnn(sizes):
    side = ((sizes["size"] - 2) // 2 - 2) // 2 - 2
    (first, second, third), hidden = sizes["filters"], sizes["hidden"]
    return Sequence(
        conv1=nn.Conv2d(sizes["channels"], first, 3), relu1=nn.ReLU(), pool1=nn.MaxPool2d(2),
        conv2=nn.Conv2d(first, second, 3), relu2=nn.ReLU(), pool2=nn.MaxPool2d(2),
        conv3=nn.Conv2d(second, third, 3), relu3=nn.ReLU(), flatten=nn.Flatten(),
        dense1=nn.Linear(third * side * side, hidden), relu4=nn.ReLU(),
        dense2=nn.Linear(hidden, sizes["classes"]),
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
    """Two convolutions and a shortcut (the paper's option A)."""

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


def build():
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
    return network.to(device, memory_format=layout)


def tensor(array, classes=False):
    values = torch.from_numpy(array).to(device)
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
        return torch.optim.SGD(
            groups, rate, momentum, weight_decay=decay, nesterov=nesterov, fused=fused)
    betas = settings["beta_1"], settings["beta_2"]
    return torch.optim.Adam(
        groups, rate, betas, settings["epsilon"], weight_decay=decay, fused=fused)


network = build()
initial = {name: tensor.clone() for name, tensor in network.state_dict().items()}
forward = torch.compile(network) if compiled else network


def train(steps, warm=case["warm"], rounded=lowered):
    """Steps from the initial weights, the first of which are not timed."""
    network.load_state_dict(initial)
    optimizer = optimizer_of(network)
    products = torch.autocast(device.type, torch.bfloat16) if rounded else contextlib.nullcontext()

    def step(index):
        inputs, targets = batches[index % len(batches)]
        with products:
            loss = loss_of(forward(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    for index in range(warm):
        step(index)

    def run():
        return [step(warm + index) for index in range(steps)]

    return run


def infer(steps, warm=case["warm"]):
    """Forward passes; for a latency each is waited for."""
    network.eval()
    waits = synchronise if case["waits"] else lambda: None

    def run(steps=steps):
        with torch.inference_mode():
            for step in range(steps):
                outputs = network(batches[step % len(batches)][0])
                waits()
        return outputs

    if warm:
        run(warm)
    return run


def reach(_):
    """Trains until the accuracy on the validation split is reached."""
    goal = case["goal"]
    network.load_state_dict(initial)
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
        order = torch.arange(len(inputs), device=device)
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
            order = torch.randperm(len(inputs), generator=generator).to(device)
        raise SystemExit("the accuracy was not reached")

    return run


# The losses that are compared are computed in f32, so that only our rounding differs; a graph is
# compiled for the arithmetic in which it is timed.
fast(compiled)
if case["task"] == "infer":
    # The mean square stands for the outputs.
    losses, timed = [infer(1, 0)().square().mean().item()], infer
else:
    losses = torch.stack(train(case["compared"], 0, False)()).tolist()
    timed = reach if case["task"] == "reach" else train
fast(True)
exchange.serve(torch.__version__, losses, case["steps"], timed, synchronise, memory)
