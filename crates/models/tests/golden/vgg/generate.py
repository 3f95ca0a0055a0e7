"""Makes plain.safetensors and batch_norm.safetensors: narrow VGG networks of two blocks, in the
layout of torchvision. Written with PyTorch 2.15.

    python3 generate.py
"""

import sys

import torch
from torch import nn

sys.path.insert(0, "..")
import golden  # noqa: E402


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


for name in ["plain", "batch_norm"]:
    golden.seed()
    images, targets = torch.randn(6, 3, 12, 12), torch.tensor([3, 0, 2, 2, 1, 1])
    net = Vgg(name == "batch_norm")
    golden.write(f"{name}.safetensors", net, images, targets, golden.sgd)
