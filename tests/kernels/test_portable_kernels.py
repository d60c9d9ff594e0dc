"""The portable int8 kernels: bytes equal to a 64-bit numpy model and to CMSIS-NN, over random shapes and extremes."""

import numpy as np
import pytest

from tests.kernels import portable_model as model
from tests.kernels.portable_cases import (
    FAMILIES,
    Case,
    add_case,
    dims,
    extremum_case,
    generic_convolution_case,
    int8s,
    mul_case,
)
from tests.support.portable import (
    ARGUMENT_ERROR,
    SUCCESS,
    UNDEFINED,
    Activation,
    Argument,
    ConvParams,
    DepthwiseParams,
    Dims,
    InOutput,
    Kernels,
    Output,
    PoolParams,
    Scratch,
    Tile,
    TransposeParams,
    build_cmsis,
    build_portable,
)
from tests.support.tools import requires_cmsis
from tinygen.paths import cmsis_nn

CASES = 250
BUILDS = {"O3": ("-O3",), "Os": ("-Os",), "O2_ubsan": ("-O2", *UNDEFINED), "Os_ubsan": ("-Os", *UNDEFINED)}


@pytest.fixture(scope="session")
def portable(tmp_path_factory: pytest.TempPathFactory) -> list[Kernels]:
    """The portable kernels for speed and for size, both also with the undefined behaviour sanitizer."""
    folder = tmp_path_factory.mktemp("portable")
    return [build_portable(folder, name, flags) for name, flags in BUILDS.items()]


@pytest.fixture(scope="session")
def cmsis(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    """CMSIS-NN's scalar code on the host."""
    folder = cmsis_nn()
    assert folder is not None
    return build_cmsis(tmp_path_factory.mktemp("cmsis"), folder)


def check(kernels: Kernels, case: Case, where: str) -> None:
    """All functions of a case write the expected bytes."""
    for function in case.functions:
        status, output = kernels.call(function, *case.arguments)
        assert status == SUCCESS, f"{kernels.name}: {function}, {where}: status {status}"
        np.testing.assert_array_equal(output, case.expected.reshape(-1), err_msg=f"{kernels.name}: {function}, {where}")


@pytest.mark.parametrize("family", FAMILIES)
def test_bytes_equal_numpy_model(family: str, portable: list[Kernels]) -> None:
    for seed in range(CASES):
        case = FAMILIES[family](np.random.default_rng(seed))
        for kernels in portable:
            check(kernels, case, f"seed {seed}")


@requires_cmsis
@pytest.mark.parametrize("family", FAMILIES)
def test_bytes_equal_cmsis_nn(family: str, portable: list[Kernels], cmsis: Kernels) -> None:
    compared = 0
    for seed in range(10_000, 10_000 + CASES):
        case = FAMILIES[family](np.random.default_rng(seed))
        if not case.same_in_cmsis:
            continue
        for function in case.functions:
            wanted = cmsis.call(function, *case.arguments)
            for kernels in portable[:2]:
                found = kernels.call(function, *case.arguments)
                np.testing.assert_array_equal(found[1], wanted[1], err_msg=f"{function}, seed {seed}")
                assert found[0] == wanted[0]
            compared += 1
    assert compared >= CASES // 4


IN_PLACE = {
    "arm_elementwise_add_s8": (add_case, (0, 1)),
    "arm_elementwise_mul_s8": (mul_case, (0, 1)),
    "arm_minimum_s8": (lambda rng: extremum_case(rng, maximum=False), (1, 3)),
    "arm_maximum_s8": (lambda rng: extremum_case(rng, maximum=True), (1, 3)),
    "arm_softmax_s8": (FAMILIES["softmax"], (0,)),
    "arm_reshape_s8": (FAMILIES["reshape"], (0,)),
}


@pytest.mark.parametrize("function", IN_PLACE)
def test_output_may_be_the_input(function: str, portable: list[Kernels]) -> None:
    make, places = IN_PLACE[function]
    done = 0
    for seed in range(60):
        case = make(np.random.default_rng(seed))
        for place in places:
            values = case.arguments[place]
            assert isinstance(values, np.ndarray)
            if values.size != case.expected.size:
                continue
            arguments = list(case.arguments)
            arguments[place] = InOutput(values.astype(np.int8))
            for kernels in portable:
                _, output = kernels.call(function, *arguments)
                np.testing.assert_array_equal(output, case.expected.reshape(-1), err_msg=f"{kernels.name}: {seed}")
            done += 1
    assert done >= 20


def test_softmax_of_long_flat_rows(portable: list[Kernels]) -> None:
    rng = np.random.default_rng(5)
    for width in (255, 256, 257, 511, 512, 513, 1001, 4096, 8191):
        values = (rng.integers(0, 2, width) * (width % 2)).astype(np.int8)
        expected = model.softmax(values.astype(np.int64), 1 << 30, 20, -255)
        for kernels in portable:
            _, output = kernels.call("arm_softmax_s8", values, 1, width, 1 << 30, 20, -255, Output(width))
            np.testing.assert_array_equal(output, expected, err_msg=f"{kernels.name}, {width} elements")


def refused_calls() -> dict[str, tuple[str, tuple[Argument, ...]]]:
    """Calls that break one documented rule each."""
    case = generic_convolution_case(np.random.default_rng(0))
    quant, bias = case.arguments[2], None
    full, one = Activation(-128, 127), Tile(1, 1)
    data = int8s(np.random.default_rng(1), 64)

    def convolution(
        stride: Tile, padding: Tile, dilation: Tile, image: Dims, taps: Dims, *upscale: Argument
    ) -> tuple[Argument, ...]:
        params = ConvParams(0, 0, stride, padding, dilation, full)
        operands = (quant, image, data, taps, data, dims(1), bias, *upscale)
        return (Scratch(), params, *operands, dims(1, 1, 1, taps.n), Output(4))

    def depthwise(padding: Tile, taps: Dims, channels: int) -> tuple[Argument, ...]:
        params = DepthwiseParams(0, 0, 1, one, padding, one, full)
        operands = (quant, dims(1, 3, 3, 1), data, taps, data, dims(1), bias)
        return (Scratch(), params, *operands, dims(1, 1, 1, channels), Output(4))

    def pool(image: Dims, padding: Tile) -> tuple[Argument, ...]:
        return (
            *(Scratch(), PoolParams(one, padding, full), image, data),
            *(dims(1, 1, 1), dims(1, 1, 1, 1), Output(4)),
        )

    order = np.array([4, 1, 2, 3], np.uint32)
    bad_axis = TransposeParams(4, order.ctypes.data_as(TransposeParams._fields_[1][1]))
    none, two = Tile(0, 0), Tile(2, 2)
    return {
        "input groups": ("arm_convolve_s8", convolution(one, none, one, dims(7), Dims(2, 1, 1, 3), None)),
        "output groups": ("arm_convolve_s8", convolution(one, none, one, dims(4), Dims(3, 1, 1, 2), None)),
        "1x1 padded": ("arm_convolve_1x1_s8", convolution(one, one, one, dims(2), Dims(1, 1, 1, 2))),
        "1x1 fast padded": ("arm_convolve_1x1_s8_fast", convolution(one, one, one, dims(2), Dims(1, 1, 1, 2))),
        "1x1 fast stride": ("arm_convolve_1x1_s8_fast", convolution(two, none, one, dims(2), Dims(1, 1, 1, 2))),
        "1xn rows": ("arm_convolve_1_x_n_s8", convolution(one, none, one, dims(2, 2, 4), Dims(1, 1, 2, 4))),
        "1xn dilated": ("arm_convolve_1_x_n_s8", convolution(one, none, two, dims(4, 4), Dims(1, 1, 2, 4))),
        "1xn step": ("arm_convolve_1_x_n_s8", convolution(one, none, one, dims(4, 3), Dims(1, 1, 2, 3))),
        "1xn no stride": ("arm_convolve_1_x_n_s8", convolution(none, none, one, dims(4, 4), Dims(1, 1, 2, 4))),
        "3x3 filter": ("arm_depthwise_conv_3x3_s8", depthwise(none, dims(2, 3, 1), 1)),
        "3x3 padding": ("arm_depthwise_conv_3x3_s8", depthwise(Tile(2, 0), dims(3, 3, 1), 1)),
        "3x3 multiplier": ("arm_depthwise_conv_3x3_s8", depthwise(none, dims(3, 3, 2), 2)),
        "opt multiplier": ("arm_depthwise_conv_s8_opt", depthwise(none, dims(3, 3, 2), 2)),
        "average of no batch": ("arm_avgpool_s8", pool(Dims(0, 2, 2, 1), none)),
        "average of nothing": ("arm_avgpool_s8", pool(dims(2, 2, 1), Tile(3, 0))),
        "maximum of no batch": ("arm_max_pool_s8", pool(Dims(0, 2, 2, 1), none)),
        "axis": ("arm_transpose_s8", (data, Output(4), dims(4), dims(4), bad_axis)),
    }


@pytest.mark.parametrize("rule", refused_calls())
def test_wrong_arguments_are_refused(rule: str, portable: list[Kernels]) -> None:
    function, arguments = refused_calls()[rule]
    for kernels in portable:
        assert kernels.call(function, *arguments)[0] == ARGUMENT_ERROR


@requires_cmsis
@pytest.mark.parametrize("rule", refused_calls())
def test_cmsis_nn_refuses_the_same(rule: str, cmsis: Kernels) -> None:
    function, arguments = refused_calls()[rule]
    assert cmsis.call(function, *arguments)[0] == ARGUMENT_ERROR


def test_upscaling_is_refused(portable: list[Kernels]) -> None:
    case = generic_convolution_case(np.random.default_rng(0))
    arguments = [*case.arguments[:9], dims(1, 2, 2, 1), *case.arguments[10:]]
    for kernels in portable:
        assert kernels.call("arm_convolve_s8", *arguments)[0] == ARGUMENT_ERROR


def test_no_scratch(portable: list[Kernels]) -> None:
    functions = [
        *(f"arm_convolve_wrapper_s8_get_buffer_size{core}" for core in ("", "_dsp", "_mve")),
        *(f"arm_depthwise_conv_wrapper_s8_get_buffer_size{core}" for core in ("", "_dsp", "_mve")),
        *(f"arm_fully_connected_s8_get_buffer_size{core}" for core in ("", "_dsp", "_mve")),
        *(f"arm_avgpool_s8_get_buffer_size{core}" for core in ("", "_dsp", "_mve")),
        *("arm_convolve_s8_get_buffer_size", "arm_convolve_1x1_s8_fast_get_buffer_size"),
        *("arm_convolve_1_x_n_s8_get_buffer_size", "arm_depthwise_conv_s8_opt_get_buffer_size"),
        *("arm_transpose_conv_s8_get_buffer_size", "arm_transpose_conv_s8_get_buffer_size_mve"),
        "arm_transpose_conv_s8_get_reverse_conv_buffer_size",
    ]
    for function in functions:
        assert [getattr(kernels.library, function)(None, None, None, None) for kernels in portable] == [0] * len(BUILDS)
