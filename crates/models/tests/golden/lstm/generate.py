"""Makes keras.safetensors (one layer with one bias, predicts at the end) and pytorch.safetensors
(two layers, predicts everywhere). Written with PyTorch 2.15.

    python3 generate.py
"""

import sys

import torch
from torch import nn

sys.path.insert(0, "..")
import golden  # noqa: E402


class TextLstm(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.embedding = nn.Embedding(13, 6)
        self.lstm = nn.LSTM(6, 7, layers, batch_first=True)
        self.dense = nn.Linear(7, 13)

    def forward(self, tokens):
        return self.dense(self.lstm(self.embedding(tokens.long()))[0])


golden.seed()
tokens = torch.randint(0, 13, (4, 9))
net = TextLstm(1)
net.lstm.bias_hh_l0.requires_grad = False  # Keras has one bias
net.lstm.bias_hh_l0.zero_()
last = torch.tensor([3, 0, 12, 7])
golden.write(
    "keras.safetensors", net, tokens, last, golden.adam, lambda net, tokens: net(tokens)[:, -1]
)

golden.seed()
following = torch.randint(0, 13, (4 * 9,))
golden.write(
    "pytorch.safetensors",
    TextLstm(2),
    tokens,
    following,
    golden.adam,
    lambda net, tokens: net(tokens).flatten(0, 1),
)
