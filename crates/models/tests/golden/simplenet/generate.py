"""Makes fixture.safetensors: the second tutorial's network on 14x14. Written with PyTorch 2.15.

    python3 generate.py
"""

import sys

import torch
from torch import nn
from torch.nn.functional import max_pool2d

sys.path.insert(0, "..")
import golden  # noqa: E402


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


golden.seed()
images, targets = torch.randn(5, 1, 14, 14), torch.tensor([3, 0, 9, 9, 5])
golden.write("fixture.safetensors", SimpleNet(), images, targets, golden.sgd)
