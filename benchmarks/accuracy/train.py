"""Train the networks whose accuracy is measured, each from a seed, on one thread, and write them as float32 ONNX.

`python -m benchmarks.accuracy.train` needs torch, onnxscript and scikit-learn; the networks stand beside this file, so
that measuring needs none of them.
"""

from pathlib import Path

import numpy as np
import onnx
import torch
from sklearn.datasets import load_digits
from torch import nn

from benchmarks.accuracy.clicks import DENSE, ROWS, visits
from examples.digits.dataset import held_out, model_input

FOLDER = Path(__file__).parent
_SEED = 1
_CALIBRATION = 300  # digits
_EPOCHS, _BATCH, _RATE = 40, 64, 4e-3
_VISITS = 200_000
_CLICK_EPOCHS, _CLICK_BATCH, _CLICK_RATE = 4, 256, 2e-3
_WIDTH = 16  # of embeddings


class Residual(nn.Module):  # type: ignore[misc]
    """Two convolutions beside a shortcut, as in MLPerf Tiny's ResNet."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.shortcut = nn.Conv2d(inputs, outputs, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The sum of both ways."""
        return torch.relu(self.layers(x) + self.shortcut(x))


def _stem(channels: int) -> list[nn.Module]:
    return [nn.Conv2d(1, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU()]


def resnet() -> nn.Module:
    """Three blocks of 8, 16 and 32 channels."""
    blocks = [Residual(8, 8, 1), Residual(8, 16, 2), Residual(16, 32, 2)]
    return nn.Sequential(*_stem(8), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))


def mobilenet() -> nn.Module:
    """Depthwise and 1x1 convolutions by turns, with limits at 6."""
    layers = _stem(8)
    for inputs, outputs, stride in ((8, 16, 1), (16, 32, 2), (32, 32, 1), (32, 64, 2), (64, 64, 1)):
        layers += [nn.Conv2d(inputs, inputs, 3, stride, 1, groups=inputs, bias=False), nn.BatchNorm2d(inputs)]
        layers += [nn.ReLU6(), nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU6()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


class Clicks(nn.Module):  # type: ignore[misc]
    """As DLRM: a network on real numbers, embeddings, products of all pairs, a network on those."""

    def __init__(self) -> None:
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(DENSE, 32), nn.ReLU(), nn.Linear(32, _WIDTH), nn.ReLU())
        self.tables = nn.ModuleList(nn.Embedding(rows, _WIDTH) for rows in ROWS)
        for table in self.tables:
            nn.init.normal_(table.weight, 0, 0.3)
        count = 1 + len(ROWS)
        self.register_buffer("pairs", torch.tensor([i * count + j for i in range(count) for j in range(i)]))
        self.top = nn.Sequential(nn.Linear(_WIDTH + len(self.pairs), 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, dense: torch.Tensor, *rows: torch.Tensor) -> torch.Tensor:
        """The chance of a click."""
        bottom = self.bottom(dense)
        vectors = [bottom, *(table(chosen) for table, chosen in zip(self.tables, rows, strict=True))]
        stacked = torch.stack(vectors, 1)
        products = torch.bmm(stacked, stacked.transpose(1, 2)).flatten(1)
        return torch.sigmoid(self.top(torch.cat([bottom, products.index_select(1, self.pairs)], 1)))


def train_digits(net: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> None:
    """Images as they are, and moved by up to one pixel."""
    optimizer = torch.optim.Adam(net.parameters(), _RATE)
    steps = _EPOCHS * (len(images) // _BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, _RATE, steps)
    for _ in range(_EPOCHS):
        order = torch.randperm(len(images))[: len(images) // _BATCH * _BATCH]
        for chosen in order.split(_BATCH):
            by = tuple(int(move) for move in torch.randint(-1, 2, (2,)))
            moved = torch.roll(images[chosen], by, (2, 3))
            loss = nn.functional.cross_entropy(net(moved), labels[chosen], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()


def train_clicks(net: nn.Module) -> None:
    """On visits of a seed that nothing else uses."""
    found = visits(_VISITS, seed=100)
    dense, rows = torch.from_numpy(found.dense), [torch.from_numpy(chosen) for chosen in found.rows]
    clicks = torch.from_numpy(found.clicks.astype(np.float32))
    optimizer = torch.optim.Adam(net.parameters(), _CLICK_RATE, weight_decay=1e-6)
    for _ in range(_CLICK_EPOCHS):
        for chosen in torch.randperm(_VISITS).split(_CLICK_BATCH):
            scores = net(dense[chosen], *(each[chosen] for each in rows)).reshape(-1)
            loss = nn.functional.binary_cross_entropy(scores, clicks[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def _save(net: nn.Module, name: str, examples: tuple[torch.Tensor, ...], inputs: list[str]) -> None:
    program = torch.onnx.export(net.eval(), examples, dynamo=True, input_names=inputs, opset_version=18, verbose=False)
    model = program.model_proto
    for named in (*model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output, model.graph):
        del named.metadata_props[:]  # where in torch, and on which machine, it was made
    onnx.save(model, FOLDER / f"{name}.onnx")


def main() -> None:
    """Train all, and write the digits that calibrate them."""
    torch.set_num_threads(1)
    data = load_digits()
    test = held_out(data.target)
    images = torch.from_numpy(model_input(data.images)).permute(0, 3, 1, 2)
    labels = torch.from_numpy(data.target)
    known, known_labels = images[~test], labels[~test]
    for name, build in (("digits_resnet", resnet), ("digits_mobilenet", mobilenet)):
        torch.manual_seed(_SEED)
        net = build()
        train_digits(net, known, known_labels)
        net.eval()
        right = (net(images[test]).argmax(1) == labels[test]).float().mean()
        print(name, f"{100 * float(right):.2f} %")
        _save(net, name, (images[:1],), ["images"])
    pixels = (16 * known[:_CALIBRATION].numpy()).astype(np.uint8)
    np.savez_compressed(FOLDER / "digits_calibration.npz", pixels=pixels, labels=known_labels[:_CALIBRATION].numpy())
    torch.manual_seed(_SEED)
    clicks = Clicks()
    train_clicks(clicks)
    one = visits(1, seed=0)
    rows = tuple(torch.from_numpy(chosen) for chosen in one.rows)
    names = ["dense", *(f"index{number}" for number in range(len(ROWS)))]
    _save(clicks, "clicks", (torch.from_numpy(one.dense), *rows), names)


if __name__ == "__main__":
    main()
