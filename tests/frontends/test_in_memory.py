"""Modules of PyTorch and Keras that the calling program holds: what the functions of Python make of them."""

from typing import Any

import numpy as np
import pytest

import tinygen
from tinygen.errors import UnsupportedModelError


def test_a_module_of_torch_and_a_program_of_it() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: modules in memory are not tried")
    module, examples = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()), (torch.ones(1, 4),)
    module.train()
    for given in ((module, examples), (module, torch.ones(1, 4)), torch.export.export(module, examples)):
        compiled = tinygen.compile(given, allow_float=True, name="line", target="host")
        expected = module(examples[0]).detach().numpy()
        np.testing.assert_allclose(
            np.asarray(compiled.run(np.ones((1, 4), np.float32))), expected, rtol=1e-5, atol=1e-6
        )
        assert compiled.report.name == "line"
    assert module.training, "the caller's module is as it was"


def test_a_module_that_torch_cannot_export() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: modules in memory are not tried")

    class Branching(torch.nn.Module):  # type: ignore[name-defined,misc]  # of a package that may be missing
        """Looks at numbers."""

        def forward(self, x: Any) -> Any:
            """The input where its sum is positive."""
            return x if x.sum().item() > 0 else -x

    with pytest.raises(UnsupportedModelError, match=r"^Branching: torch cannot export it"):
        tinygen.compile((Branching(), (torch.ones(1, 4),)), allow_float=True, target="host")


def test_a_model_of_keras() -> None:
    pytest.importorskip("tensorflow", reason="tensorflow is not installed: models in memory are not tried")
    keras = pytest.importorskip("keras", reason="keras is not installed: models in memory are not tried")
    model = keras.Sequential([keras.Input((4,), batch_size=1), keras.layers.Dense(3, activation="relu")])
    compiled = tinygen.compile(model, allow_float=True, target="host")
    x = np.ones((1, 4), np.float32)
    np.testing.assert_allclose(np.asarray(compiled.run(x)), model(x).numpy(), rtol=1e-5, atol=1e-6)
