"""How well f32 determines the gradients of an untrained ResNet-20: PyTorch's in f32 against f64.

Run with: python xtask/src/gpu_check/resnet_rounding.py
"""

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.stride, self.added = stride, (outputs - inputs) // 2
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        x = F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.added, self.added))
        return F.relu(y + x)


def resnet20():
    stages = [(16, 16, 1), (16, 32, 2), (32, 64, 2)]
    blocks = [
        Block(inputs if first else outputs, outputs, stride if first else 1)
        for inputs, outputs, stride in stages
        for first in (True, False, False)
    ]
    stem = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)]
    return nn.Sequential(*stem, *blocks, *head)


def gradients(model, images, labels):
    model.zero_grad()
    F.cross_entropy(model(images), labels).backward()
    return {name: value.grad.double() for name, value in model.named_parameters()}


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model, images, labels = resnet20(), torch.randn(16, 3, 32, 32), torch.randint(10, (16,))
    rounded = gradients(model, images, labels)
    exact = gradients(model.double(), images.double(), labels)
    largest = {name: value.abs().max() for name, value in exact.items()}
    parted = {name: ((rounded[name] - exact[name]).abs().max() / largest[name]).item() for name in exact}
    for name in sorted(parted, key=parted.get)[:-6:-1]:
        print(f"{name:16} {parted[name]:.1e} of {largest[name]:.1e}")
