"""Engines by a board's file and its templates alone: an accelerator of tests/boards, and what templates may not do."""

import re
import shutil
from pathlib import Path

import pytest

from tests.support.command_line import Ended, tinygen
from tests.support.float_models import write_float_model
from tests.support.tools import requires_host_cc, requires_qemu
from tinygen import targets
from tinygen.errors import UsageError

BOARDS = Path(__file__).resolve().parents[1] / "boards"
FOLDER = "dot4_templates"
HOST, M4 = BOARDS / "host-dot4.toml", BOARDS / "m4-dot4.toml"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The model and its table."""
    folder = tmp_path_factory.mktemp("dot4")
    model, data = write_float_model(folder, 64)
    ended = tinygen("calibrate", model, "--data", data, "-t", M4, "-o", folder / "t.json", "--max-drop", "100")
    assert ended.code == 0, ended.stderr
    return model, folder / "t.json"


@pytest.fixture
def board(tmp_path: Path) -> Path:
    """A copy of the host's board, whose templates may be changed."""
    shutil.copytree(BOARDS / FOLDER, tmp_path / FOLDER)
    return Path(shutil.copy(HOST, tmp_path))


def _compiled(files: tuple[Path, Path], board: Path) -> Ended:
    """On whole tensors: each layer is one call."""
    out = board.parent / "out"
    return tinygen("compile", files[0], "--ctable", files[1], "-t", board, "-O", "time", "-o", out, "--force")


def _validated(files: tuple[Path, Path], board: Path, *options: str) -> Ended:
    asked = ("--samples", "3", "--per-layer", "--json", *options)
    return tinygen("validate", files[0], "--ctable", files[1], "-t", board, *asked)


def _message(ended: Ended) -> str:
    return " ".join(ended.stderr.split())


@requires_host_cc
@pytest.mark.parametrize("options", [(), ("-O", "ram")], ids=["whole", "rows"])
@pytest.mark.parametrize("target", [HOST, pytest.param(M4, marks=[requires_qemu, pytest.mark.qemu])])
def test_s0_24_the_device_computes_what_the_simulator_does(
    files: tuple[Path, Path], target: Path, options: tuple[str, ...]
) -> None:
    ended = _validated(files, target, *options)
    assert ended.code == 0, ended.stderr
    assert ended.document["exact"]
    functions = {layer["kernel"] for layer in ended.document["layers"]}
    assert {"dot4_conv_2d", "dot4_depthwise_conv_2d", "dot4_fully_connected"} <= functions


def test_s0_24_layers_have_functions_of_their_own(files: tuple[Path, Path], board: Path) -> None:
    ended = _compiled(files, board)
    assert ended.code == 0, ended.stderr
    header, source, model = (
        (board.parent / "out" / name).read_text() for name in ("net_engines.h", "net_engines.c", "net.c")
    )
    assert "#define NET_DOT4_LAYERS 3\n" in header
    for function in ("net_dot4_conv_2d_1", "net_dot4_conv_2d_5", "net_dot4_fully_connected_8"):
        assert f"int {function}(const int8_t *input, int8_t *output);\n" in header
        assert f"    .run = {function},\n" in model
        assert source.count(f"        .weights = {function}_weights,\n") == 1
    assert "struct dot4_registers {" in source
    # no template is for depthwise layers: the model describes them, and a driver may take them
    assert "__attribute__((weak)) int dot4_depthwise_conv_2d(const struct tg_engine_layer *layer," in source
    assert "static const struct tg_engine_layer engine_layer_2_layer = {" in model


def test_parts_of_a_layer_share_constants(files: tuple[Path, Path], board: Path) -> None:
    out = board.parent / "out"
    ended = tinygen("compile", files[0], "--ctable", files[1], "-t", board, "-o", out, "-O", "ram")
    assert ended.code == 0, ended.stderr
    source = (out / "net_engines.c").read_text()
    for part in ("", "_1", "_2"):  # the first row, those between, the last one
        assert f"\nint net_dot4_conv_2d_1{part}(const int8_t *input, int8_t *output)\n" in source
        assert f"    .run = net_dot4_conv_2d_1{part},\n" in (out / "net.c").read_text()
    assert source.count("static const int8_t net_dot4_conv_2d_1_weights[]") == 1
    assert source.count(".weights = net_dot4_conv_2d_1_weights,") == 3
    assert ".output_size = 1U << 16 | 8U," in source


@requires_host_cc
def test_templates_of_int16_engines(files: tuple[Path, Path], board: Path) -> None:
    board.write_text(board.read_text().replace('requantization = "single"', 'activations = "int16"'))
    folder = board.parent / FOLDER
    for file in folder.glob("*.j2"):
        file.unlink()
    (folder / "conv_2d.c.j2").write_text(
        "{{ description }}\n\nint {{ function }}(const {{ ctype }} *input, {{ ctype }} *output)\n{\n"
        "    tg_engine_layer_s16(&{{ function }}_layer, input, output);\n    return 0;\n}\n"
    )
    data, table = files[0].parent / "samples.npz", board.parent / "t.json"
    ended = tinygen("calibrate", files[0], "--data", data, "-t", board, "-o", table, "--engine", "stem=dot4")
    assert ended.code == 0, ended.stderr
    proven = _validated((files[0], table), board)
    assert proven.code == 0, proven.stderr
    assert proven.document["exact"]
    compiled = _compiled((files[0], table), board)
    assert compiled.code == 0, compiled.stderr
    source = (board.parent / "out" / "net_engines.c").read_text()
    assert re.search(r"\nint net_dot4_conv_2d_\d\(const int16_t \*input, int16_t \*output\)\n", source)


@requires_host_cc
def test_a_layer_whose_template_prints_nothing_is_emulated(files: tuple[Path, Path], board: Path) -> None:
    template = board.parent / FOLDER / "conv_2d.c.j2"
    template.write_text("{% if layer.filter_height == 1 %}\n" + template.read_text() + "{% endif %}\n")
    ended = _compiled(files, board)
    assert ended.code == 0, ended.stderr
    source = (board.parent / "out" / "net_engines.c").read_text()
    assert "tg_engine_layer_s8(&net_dot4_conv_2d_1_layer, input, output);" in source
    assert ".weights = net_dot4_conv_2d_5_weights," in source
    proven = _validated(files, board)
    assert proven.code == 0, proven.stderr
    assert proven.document["exact"]


@requires_host_cc
def test_descriptions_are_there_for_templates_that_want_them(files: tuple[Path, Path], board: Path) -> None:
    (board.parent / FOLDER / "fully_connected.c.j2").write_text(
        "{{ description }}\n\nint {{ function }}(const {{ ctype }} *input, {{ ctype }} *output)\n{\n"
        "    tg_engine_layer_s8(&{{ function }}_layer, input, output);\n    return 0;\n}\n"
    )
    proven = _validated(files, board)
    assert proven.code == 0, proven.stderr
    assert proven.document["exact"]


@requires_host_cc
def test_wrong_templates_are_found_by_validation(files: tuple[Path, Path], board: Path) -> None:
    prologue = board.parent / FOLDER / "prologue.c.j2"
    text = prologue.read_text()
    assert "(30 - shift)" in text
    prologue.write_text(text.replace("(int64_t)1 << (30 - shift)", "0"))
    ended = _validated(files, board)
    assert ended.code == 5
    assert ended.document["first_mismatch"]["name"] == "stem"


def test_tables_do_not_depend_on_templates(files: tuple[Path, Path], board: Path) -> None:
    assert "templates" not in files[1].read_text()
    (board.parent / FOLDER).rename(board.parent / "other")
    board.write_text(board.read_text().replace(FOLDER, "other"))
    assert _compiled(files, board).code == 0


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "conv_2d.c.j2",
            "int {{ function }}(void)\n{\n    return {{ layer.heigth }};\n}\n",
            "conv_2d.c.j2, line 3: 'dict object' has no attribute 'heigth'",
        ),
        ("conv_2d.c.j2", "\n{{ wights.symbol }}\n", "conv_2d.c.j2, line 2: 'wights' is undefined"),
        ("_layer.c.j2", "\n\n{% if %}\n", "_layer.c.j2, line 3: Expected an expression, got 'end of statement block'"),
        (
            "conv_2d.c.j2",
            "{% for n in weights.numbers %}\n",
            "conv_2d.c.j2, line 1: Unexpected end of template. Jinja was looking for the following tags: 'endfor' or "
            "'else'. The innermost block that needs to be closed is 'for'",
        ),
        ("conv_2d.c.j2", '\n{% include "_lair.c.j2" %}', "conv_2d.c.j2, line 2: there is no template '_lair.c.j2'"),
        (
            "conv_2d.c.j2",
            '{% include "../../../../../../etc/passwd" %}',
            "conv_2d.c.j2, line 1: there is no template '../../../../../../etc/passwd'",
        ),
        ("prologue.c.j2", "{{ 1 // 0 }}", "prologue.c.j2, line 1: integer division or modulo by zero"),
        (
            "conv_2d.c.j2",
            "{{ layer.__class__.__mro__ }}",
            "conv_2d.c.j2, line 1: access to attribute '__class__' of 'dict' object is unsafe",
        ),
        (
            "conv_2d.c.j2",
            "{% for a in range(1000000) %}{% endfor %}",
            "conv_2d.c.j2, line 1: Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000)",
        ),
        ("conv_2d.c.j2", "{{ [0.5] | c_array }}", "conv_2d.c.j2, line 1: c_array takes whole numbers"),
        ("conv_2d.c.j2", "{{ lipsum() }}", "conv_2d.c.j2, line 1: 'lipsum' is undefined"),
        ("conv_2d.c.j2", "\n{{ [1] | random }}", "conv_2d.c.j2, line 2: No filter named 'random'"),
    ],
)
def test_faults_have_template_and_line(
    name: str, text: str, message: str, files: tuple[Path, Path], board: Path
) -> None:
    (board.parent / FOLDER / name).write_text(text)
    ended = _compiled(files, board)
    assert ended.code == 2
    expected = f"tinygen: {FOLDER}/{message}, what docs/engines.md lists was expected. Correct the template."
    assert _message(ended) == expected
    assert not (board.parent / "out").exists()


def test_a_template_defines_its_function(files: tuple[Path, Path], board: Path) -> None:
    (board.parent / FOLDER / "conv_2d.c.j2").write_text("int {{ operator }}(void);\n")
    ended = _compiled(files, board)
    assert ended.code == 2
    assert _message(ended) == (
        f"tinygen: {FOLDER}/conv_2d.c.j2: prints no function 'net_dot4_conv_2d_1' for operator 'stem', a definition of "
        "it was expected, or nothing. Begin it with int {{ function }}(...)."
    )


@pytest.mark.parametrize(
    ("folder", "problem"),
    [
        ("../secret", "templates are '../secret', expected a folder within that of the board's file"),
        ("/etc", "templates are '/etc', expected a folder within that of the board's file"),
        (".", "templates are '.', expected a folder within that of the board's file"),
        ("link", "templates are 'link', expected a folder within that of the board's file"),
        ("none", "templates are 'none', expected a folder that exists beside the board's file"),
        ("empty", "templates in 'empty' are for no operator, expected one of conv_2d.c.j2, "),
        ("typo", "template 'typo/conv2d.c.j2' is not known (did you mean conv_2d.c.j2?), expected conv_2d.c.j2, "),
        ("leak", "template 'leak/conv_2d.c.j2' leads out of the folder, expected a file in it"),
        ("bytes", "template 'bytes/conv_2d.c.j2' cannot be read ("),
        ("large", "template 'large/conv_2d.c.j2' has 2,097,152 bytes, expected at most 1,048,576"),
    ],
)
def test_folders_that_cannot_be(folder: str, problem: str, tmp_path: Path) -> None:
    here, secret = tmp_path / "board", tmp_path / "secret"
    for made in (here / "empty", here / "typo", here / "leak", here / "bytes", here / "large", secret):
        made.mkdir(parents=True)
    (secret / "conv_2d.c.j2").write_text("secret")
    (here / "link").symlink_to(secret)
    (here / "leak" / "conv_2d.c.j2").symlink_to(secret / "conv_2d.c.j2")
    (here / "typo" / "conv2d.c.j2").write_text("")
    (here / "bytes" / "conv_2d.c.j2").write_bytes(b"\xff")
    (here / "large" / "conv_2d.c.j2").write_bytes(bytes(2 << 20))
    file = here / "board.toml"
    file.write_text(HOST.read_text().replace(FOLDER, folder))
    with pytest.raises(UsageError) as caught:
        targets.load(str(file))
    assert str(caught.value).startswith(f"{file}: key 'engine.1.templates': {problem}")
    assert str(caught.value).endswith(". Correct it.")


def test_kernels_on_the_core_have_no_templates(tmp_path: Path) -> None:
    file = tmp_path / "board.toml"
    file.write_text(HOST.read_text().replace('kind = "extern"', 'kind = "tinygen"'))
    with pytest.raises(UsageError) as caught:
        targets.load(str(file))
    assert str(caught.value) == (
        f"{file}: key 'engine.1': templates are given with kind 'tinygen', expected only with 'extern' and "
        "'analog-cim'. Correct the file."
    )
