"""Makes the fixtures of all networks. Written with PyTorch 2.15.

    python3 generate.py

A fixture holds weights (rounded to f16, which both sides read exactly), inputs and targets; then
what PyTorch makes of them in f64: logits, losses and gradients of a training pass, the mean losses
of five steps of gradient descent, and after these the running statistics and the logits in
evaluation.
"""

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn.functional import cross_entropy, max_pool2d, pad

STEPS = 5
LEARNING_RATE = 0.03


def seed(number=0):
    torch.set_num_threads(1)  # the order of sums is then the same everywhere
    torch.manual_seed(number)


def write(name, net, inputs, targets, forward=None):
    """`forward(net, inputs)` returns logits [batch, classes]; by default `net(inputs)`."""
    forward = forward or (lambda net, inputs: net(inputs))
    net = net.half().double()
    if inputs.is_floating_point():
        inputs = inputs.half().double()

    def state():
        counters = "num_batches_tracked"
        return {k: v for k, v in net.state_dict().items() if not k.endswith(counters)}

    def trained(name):
        return net.get_parameter(name).requires_grad

    names = [name for name, _ in net.named_parameters()]
    left_out = [name for name in names if not trained(name)]
    tensors = {f"weights.{k}": v.half() for k, v in state().items() if k not in left_out}
    tensors |= {"inputs": inputs.float(), "targets": targets.float()}

    descent = torch.optim.SGD(net.parameters(), LEARNING_RATE)
    losses = []
    for step in range(STEPS):
        net.train()
        logits = forward(net, inputs)
        each = cross_entropy(logits, targets, reduction="none")
        descent.zero_grad()
        each.mean().backward()
        if step == 0:
            tensors |= {"logits": logits.detach().clone(), "losses": each.detach().clone()}
            of = {name: net.get_parameter(name).grad.clone() for name in names if trained(name)}
            tensors |= {f"gradients.{name}": gradient for name, gradient in of.items()}
        losses.append(each.mean().item())
        descent.step()
    net.eval()
    tensors["mean_losses"] = torch.tensor(losses, dtype=torch.float64)
    tensors["evaluation"] = forward(net, inputs).detach()
    running = {k: v for k, v in state().items() if ".running_" in k}
    tensors |= {f"after.{name}": value for name, value in running.items()}
    ready = {k: v if v.dtype == torch.float16 else v.float() for k, v in tensors.items()}
    save_file({k: v.contiguous() for k, v in ready.items()}, f"{name}.safetensors")


# A small multi-layer perceptron.

seed()
net = nn.ModuleDict({"layers": nn.ModuleList([nn.Linear(4, 5), nn.Linear(5, 3), nn.Linear(3, 3)])})


def mlp(net, hidden):
    for index, layer in enumerate(net["layers"]):
        hidden = layer(hidden if index == 0 else torch.relu(hidden))
    return hidden


write("mlp", net, torch.randn(6, 4), torch.tensor([0, 2, 1, 1, 0, 2]), mlp)


# One that reads two texts, of five and three tokens, with a number between them.


class MeanReader(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)

    def forward(self, tokens):
        are_tokens = (tokens > 0).unsqueeze(2)
        return (self.embedding(tokens.long()) * are_tokens).sum(1) / are_tokens.sum(1).clamp(min=1)


class LstmReader(nn.Module):
    def __init__(self, tokens, width, hidden):
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.lstm = nn.LSTM(width, hidden, batch_first=True)
        self.lstm.bias_hh_l0.requires_grad = False  # Keras has one bias
        nn.init.zeros_(self.lstm.bias_hh_l0)

    def forward(self, tokens):
        outputs = self.lstm(self.embedding(tokens.long()))[0]
        largest = outputs.masked_fill((tokens == 0).unsqueeze(2), -2).amax(1)
        return largest * (tokens > 0).any(1, keepdim=True)


class TextMlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.texts = nn.ModuleList([LstmReader(9, 4, 5), MeanReader(6, 3)])
        self.layers = nn.ModuleList([nn.Linear(5 + 1 + 3, 6), nn.Linear(6, 3)])

    def forward(self, rows):
        texts = [text(part) for text, part in zip(self.texts, (rows[:, :5], rows[:, 6:]))]
        return mlp({"layers": self.layers}, torch.cat([texts[0], rows[:, 5:6], texts[1]], 1))


seed()
long, short = torch.randint(0, 9, (4, 5)).float(), torch.randint(0, 6, (4, 3)).float()
long[3], short[3] = 0, 0  # missing
rows = torch.cat([long, torch.randn(4, 1), short], 1)
write("mlp_texts", TextMlp(), rows, torch.tensor([2, 0, 1, 1]))


# The Keras tutorial's network on 22x22.


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.conv3 = nn.Conv2d(64, 64, 3)
        self.dense1 = nn.Linear(64 * 2 * 2, 64)
        self.dense2 = nn.Linear(64, 10)

    def forward(self, images):
        maps = max_pool2d(torch.relu(self.conv1(images)), 2)
        maps = max_pool2d(torch.relu(self.conv2(maps)), 2)
        maps = torch.relu(self.conv3(maps))
        return self.dense2(torch.relu(self.dense1(maps.flatten(1))))


seed()
images, targets = torch.randn(5, 1, 22, 22), torch.tensor([3, 0, 9, 9, 5])
write("cnn", Cnn(), images, targets)


# The second tutorial's network on 14x14.


class SimpleNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3)
        self.conv2 = nn.Conv2d(6, 16, 3)
        self.fc1 = nn.Linear(16 * 2 * 2, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, images):
        maps = max_pool2d(torch.relu(self.conv1(images)), 2)
        maps = max_pool2d(torch.relu(self.conv2(maps)), 2)
        hidden = torch.relu(self.fc1(maps.flatten(1)))
        return self.fc3(torch.relu(self.fc2(hidden)))


seed()
images, targets = torch.randn(5, 1, 14, 14), torch.tensor([3, 0, 9, 9, 5])
write("simplenet", SimpleNet(), images, targets)


# Residual networks of depth 8, by their shortcuts.


class Block(nn.Module):
    def __init__(self, inputs, outputs, with_convolution):
        super().__init__()
        stride = 1 if inputs == outputs else 2
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.stride, self.zeros = stride, outputs - inputs
        self.downsample = None
        if stride == 2 and with_convolution:
            shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.downsample = nn.Sequential(shortcut, nn.BatchNorm2d(outputs))

    def forward(self, images):
        maps = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(images)))))
        if self.downsample is not None:
            return torch.relu(maps + self.downsample(images))
        shortcut = images[:, :, :: self.stride, :: self.stride]
        half = self.zeros // 2
        return torch.relu(maps + pad(shortcut, (0, 0, 0, 0, half, half)))


class ResNet(nn.Module):
    def __init__(self, with_convolution):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = nn.Sequential(Block(16, 16, with_convolution))
        self.layer2 = nn.Sequential(Block(16, 32, with_convolution))
        self.layer3 = nn.Sequential(Block(32, 64, with_convolution))
        self.fc = nn.Linear(64, 10)

    def forward(self, images):
        maps = torch.relu(self.bn1(self.conv1(images)))
        maps = self.layer3(self.layer2(self.layer1(maps)))
        return self.fc(maps.mean((2, 3)))


for shortcut in ["zeros", "convolution"]:
    # Of the first seeds the one whose values stay farthest from ReLU's corner, in the first step
    # 1e-5 of the largest: nearer ones come out on the other side when they are rounded to f32. In the
    # other steps this learning rate keeps them 2e-6 away.
    seed(5)
    images, targets = torch.randn(6, 3, 10, 10), torch.tensor([3, 0, 9, 9, 5, 1])
    write(f"resnet_{shortcut}", ResNet(shortcut == "convolution"), images, targets)


# Text generators: of one layer with one bias, which predicts at the end, and of two layers, which
# predicts everywhere.


class TextLstm(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.embedding = nn.Embedding(13, 6)
        self.lstm = nn.LSTM(6, 7, layers, batch_first=True)
        self.dense = nn.Linear(7, 13)

    def forward(self, tokens):
        return self.dense(self.lstm(self.embedding(tokens.long()))[0])


seed()
tokens = torch.randint(0, 13, (4, 9))
net = TextLstm(1)
net.lstm.bias_hh_l0.requires_grad = False  # Keras has one bias
net.lstm.bias_hh_l0.zero_()
last = torch.tensor([3, 0, 12, 7])
write("lstm_keras", net, tokens, last, lambda net, tokens: net(tokens)[:, -1])

seed()
following = torch.randint(0, 13, (4 * 9,))
write("lstm_pytorch", TextLstm(2), tokens, following, lambda net, tokens: net(tokens).flatten(0, 1))


# Narrow VGG networks of two blocks, in the layout of torchvision.


class Vgg(nn.Module):
    def __init__(self, batch_norm):
        super().__init__()
        features, inputs = [], 3
        for block in [[8, 8], [12]]:
            for outputs in block:
                features.append(nn.Conv2d(inputs, outputs, 3, padding=1))
                if batch_norm:
                    features.append(nn.BatchNorm2d(outputs))
                features.append(nn.ReLU())
                inputs = outputs
            features.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*features)
        head = [nn.Linear(12 * 3 * 3, 16), nn.ReLU(), nn.Dropout(0.0), nn.Linear(16, 4)]
        self.classifier = nn.Sequential(*head)

    def forward(self, images):
        return self.classifier(self.features(images).flatten(1))


for kind in ["plain", "batch_norm"]:
    seed()
    images, targets = torch.randn(6, 3, 12, 12), torch.tensor([3, 0, 2, 2, 1, 1])
    write(f"vgg_{kind}", Vgg(kind == "batch_norm"), images, targets)
