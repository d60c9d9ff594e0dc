"""`tinygen.toml`: what it says is what `tinygen compile` does, and nothing in it leads out of its folder."""

import shutil
from pathlib import Path

import pytest

from tests.support.command_line import DIGITS, tinygen
from tinygen.errors import UsageError
from tinygen.options import Options, options_from_text
from tinygen.tasks.product_file import product_text, read_product

_FILE = 'models = ["net.tflite"]\noutput = "out"\n[options]\ntarget = "mps2-an386"\n'


@pytest.fixture(autouse=True)
def product(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "product"
    folder.mkdir()
    shutil.copy(DIGITS, folder / "net.tflite")
    shutil.copy(DIGITS, tmp_path / "outside.tflite")
    monkeypatch.chdir(folder)
    return folder


def texts(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_build_repeats_what_compile_does(product: Path) -> None:
    ended = tinygen("new", "net.tflite", "-t", "mps2-an386", "-O", "ram", "--json")
    assert (ended.code, ended.document["optimize"]) == (0, "ram")
    with Path("tinygen.toml").open("a") as stream:
        stream.write('ram = "4K"\nname = "digits"\nstate = []\n')
    assert tinygen("build").code == 0
    compiled = tinygen(
        "compile", "net.tflite", "-o", "other", "-t", "mps2-an386", "-O", "ram", "--ram", "4K", "-n", "digits"
    )
    assert compiled.code == 0
    assert texts(product / "out") == texts(product / "other")
    before = texts(product / "out")
    assert tinygen("build", "tinygen.toml").code == 0
    assert texts(product / "out") == before


def test_several_networks_share_a_folder(product: Path) -> None:
    text = 'models = ["a=net.tflite", "b=net.tflite"]\n[options]\ntarget = "mps2-an386"\ntogether = ["a,b"]\n'
    Path("tinygen.toml").write_text(text)
    ended = tinygen("build", "--json")
    assert (ended.code, ended.document["together"]) == (0, [["a", "b"]])
    assert (product / "out" / "a.h").is_file()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            _FILE.replace("net.tflite", "../outside.tflite"),
            "models names '../outside.tflite', a path in the file's own",
        ),
        (_FILE.replace("net.tflite", "n=../outside.tflite"), "models names '../outside.tflite', a path in the file's"),
        (_FILE.replace("net.tflite", "link.tflite"), "models names 'link.tflite', a path in the file's own folder"),
        (_FILE.replace('"out"', '"/tmp/elsewhere"'), "output names '/tmp/elsewhere', a path in the file's own folder"),
        (_FILE.replace('"out"', '"."'), "output names '.', a folder inside of the file's own was expected."),
        (_FILE + 'ctable = "../t.json"\n', "ctable names '../t.json', a path in the file's own folder was expected."),
        (_FILE + 'cmsis_nn = "/opt/cmsis"\n', "cmsis_nn names '/opt/cmsis', a path in the file's own folder"),
        (_FILE + 'front_end = "../f.json"\n', "front_end names '../f.json', a path in the file's own folder"),
        (_FILE.replace("mps2-an386", "../board.toml"), "target names '../board.toml', a path in the file's own folder"),
        (_FILE + "trust = true\n", "has the option 'trust', which only the command line can give"),
        (_FILE + "rma = 3\n", "rma: is no option, one of ram was expected. Correct the name."),
        (_FILE + "ram = [1]\n", "ram is [1], a text or a number was expected. Correct it."),
        (_FILE + "name = 3\n", "name is 3, a text or a number was expected. Correct it."),
        (_FILE + "stop_at = 3\n", "stop_at is 3, a list of texts was expected. Correct it."),
        (_FILE + "max_drop = 1979-05-27\n", "max_drop is datetime.date(1979, 5, 27), a text or a number was expected"),
        ("modles = []\n", "has 'modles', one of models, output, project, options was expected. Correct the name."),
        ("models = []\n[options]\ntarget='host'\n", 'models is [], a list as in models = ["net.tflite"] was expected'),
        ("models = ", "cannot be read (Invalid value"),
        ("x = " + "[" * 9000, "cannot be read ("),
        ("#" * (1 << 21), "has more than 1,048,576 bytes, a product's file has less. Name another."),
    ],
)
def test_files_that_are_refused(text: str, message: str) -> None:
    Path("link.tflite").symlink_to("../outside.tflite")
    Path("tinygen.toml").write_text(text)
    ended = tinygen("build")
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"tinygen: tinygen.toml: {message}"), ended.stderr
    assert not Path("out").exists()


def test_there_is_no_file() -> None:
    ended = tinygen("build")
    assert ended.code == 2
    assert ended.stderr == (
        "tinygen: tinygen.toml: there is no such file. Write one with `tinygen new MODEL -t PART`, or name another.\n"
    )


def test_new_asks_nobody_where_nobody_is(product: Path) -> None:
    for given, missing in ((["net.tflite"], "--optimize"), ([], "MODEL")):
        ended = tinygen("new", *given)
        assert ended.code == 2
        assert ended.stderr == f"tinygen: {missing}: is not given, and nobody can be asked here. Add it.\n"
    assert not (product / "tinygen.toml").exists()


def test_the_target_is_that_of_all_commands_where_none_is_given(product: Path) -> None:
    assert tinygen("new", "net.tflite", "-O", "time", "--json").document["target"] == Options.target
    (product / "tinygen.toml").write_text('models = "net.tflite"\n')
    assert read_product(product / "tinygen.toml").options == options_from_text()


def test_new_refuses_what_build_would_refuse(product: Path) -> None:
    options = ["-t", "mps2-an386", "-O", "time"]
    assert "there is no such file" in tinygen("new", "none.tflite", *options).stderr
    assert "lies outside of tinygen.toml's folder" in tinygen("new", "../outside.tflite", *options).stderr
    assert "target 'mps9'" in tinygen("new", "net.tflite", "-t", "mps9", "-O", "time").stderr
    assert "--optimize: is 'fast'" in tinygen("new", "net.tflite", "-t", "host", "-O", "fast").stderr
    assert not (product / "tinygen.toml").exists()
    assert tinygen("new", "net.tflite", *options).code == 0
    ended = tinygen("new", "net.tflite", *options)
    assert (ended.code, "--force" in ended.stderr) == (2, True)


def test_any_name_survives_the_file(product: Path) -> None:
    name = 'a "b" \\ \x7f é\t.tflite'
    shutil.copy(DIGITS, product / name)
    (product / "tinygen.toml").write_text(product_text([name], "out", {"target": "host"}), encoding="utf-8")
    [model] = read_product(product / "tinygen.toml").models
    assert model == str(product / name)
    with pytest.raises(UsageError, match="is no text, a name in UTF-8 was expected"):
        product_text(["\udcff.tflite"], "out", {})
