"""Runs the example `convolution_speed` in turns with PyTorch and prints the least times of both.

    cargo build --release --examples
    python3 crates/backend/examples/convolution_speed.py target/release/examples/convolution_speed [rounds]
"""

import pathlib
import subprocess
import sys
import time

import torch

torch.set_num_threads(2)
SHAPES = pathlib.Path(__file__).with_suffix(".txt").read_text().split("\n")[:-1]


def least(runs, work):
    work()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def peer(line, runs):
    batch, inputs, outputs, side, kernel, stride, padding = map(int, line.split())
    x = torch.randn(batch, inputs, side, side)
    w = torch.randn(outputs, inputs, kernel, kernel)
    y = torch.nn.functional.conv2d(x, w, stride=stride, padding=padding)
    gradient = torch.randn_like(y)

    def backward(mask):
        torch.ops.aten.convolution_backward(
            gradient, x, w, None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], 1, mask
        )

    return [
        least(runs, lambda: torch.nn.functional.conv2d(x, w, stride=stride, padding=padding)),
        least(runs, lambda: backward([False, True, False])),
        least(runs, lambda: backward([True, False, False])),
    ]


def merge(best, new):
    return [[min(a, b) for a, b in zip(old, row)] for old, row in zip(best, new)] if best else new


def main():
    binary = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    ours, theirs = None, None
    with torch.no_grad():
        for _ in range(rounds):
            output = subprocess.run([binary, "5", *sys.argv[3:]], capture_output=True, text=True, check=True)
            ours = merge(ours, [[float(v) for v in line.split()] for line in output.stdout.splitlines()])
            theirs = merge(theirs, [peer(line, 5) for line in SHAPES])
    print("batch inputs outputs side kernel stride padding: ours / PyTorch ms, ratio, our GFLOP/s")
    for line, mine, other in zip(SHAPES, ours, theirs):
        batch, inputs, outputs, side, kernel, stride, padding = map(int, line.split())
        output = (side + 2 * padding - kernel) // stride + 1
        work = 2e-6 * batch * inputs * outputs * kernel**2 * output**2
        cells = [f"{a:8.2f} /{b:8.2f} {b / a:5.2f}x {work / a:5.0f}" for a, b in zip(mine, other)]
        print(f"{line:22}", "   ".join(cells))


main()
