"""Makes fixture.safetensors: the Keras tutorial's network on 22x22. Written with PyTorch 2.15.

    python3 generate.py
"""

import sys

import torch
from torch import nn
from torch.nn.functional import max_pool2d

sys.path.insert(0, "..")
import golden  # noqa: E402


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


golden.seed()
images, targets = torch.randn(5, 1, 22, 22), torch.tensor([3, 0, 9, 9, 5])
golden.write("fixture.safetensors", Cnn(), images, targets, golden.adam)
