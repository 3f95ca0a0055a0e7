"""What the golden scripts of the networks share.

A fixture holds weights (rounded to f16, which both sides read exactly), inputs and targets; then
what PyTorch makes of them in f64: logits, losses and gradients of a training pass, the mean losses
of five steps of training, and after these the running statistics and the logits in evaluation.
"""

import torch
from safetensors.torch import save_file
from torch import nn

STEPS = 5


def adam(net):
    return torch.optim.Adam(net.parameters(), lr=1e-3)


def sgd(net):
    return torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)


def seed(number=0):
    torch.set_num_threads(1)  # the order of sums is then the same everywhere
    torch.manual_seed(number)


def write(path, net, inputs, targets, optimizer, forward=None):
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

    chosen = optimizer(net)
    losses = []
    for step in range(STEPS):
        net.train()
        logits = forward(net, inputs)
        each = nn.functional.cross_entropy(logits, targets, reduction="none")
        chosen.zero_grad()
        each.mean().backward()
        if step == 0:
            tensors |= {"logits": logits.detach().clone(), "losses": each.detach().clone()}
            of = {name: net.get_parameter(name).grad.clone() for name in names if trained(name)}
            tensors |= {f"gradients.{name}": gradient for name, gradient in of.items()}
        losses.append(each.mean().item())
        chosen.step()
    net.eval()
    tensors["mean_losses"] = torch.tensor(losses, dtype=torch.float64)
    tensors["evaluation"] = forward(net, inputs).detach()
    running = {k: v for k, v in state().items() if ".running_" in k}
    tensors |= {f"after.{name}": value for name, value in running.items()}
    ready = {k: v if v.dtype == torch.float16 else v.float() for k, v in tensors.items()}
    save_file({k: v.contiguous() for k, v in ready.items()}, path)
