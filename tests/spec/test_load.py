"""Settings: who wins, where each came from, and what a cloned repository may not say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from outlast.errors import UsageError
from outlast.spec.load import Settings, load
from outlast.spec.settings import SETTINGS
from outlast.spec.trust import trust


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    directory = tmp_path / "repository"
    (directory / ".git").mkdir(parents=True)
    (directory / "deep" / "er").mkdir(parents=True)
    return directory


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    (tmp_path / "user").mkdir()
    return tmp_path / "user" / "config.toml"


def settings_of(directory: Path, user_file: Path, flags: dict[str, object] | None = None, **environ: str) -> Settings:
    return load(flags or {}, environ, directory, user_file)


def test_without_anything_all_are_defaults(repository: Path, user_file: Path) -> None:
    settings = settings_of(repository, user_file)
    assert {settings.source(name) for name in settings} == {"default"}
    assert settings["cpus"] == 1 and settings["max_run"] == 604800 and settings["home"] is None


def test_the_first_to_speak_wins_and_is_named(repository: Path, user_file: Path) -> None:
    user_file.write_text("cpus = 2\n")
    assert settings_of(repository, user_file).source("cpus") == str(user_file)
    (repository / "outlast.toml").write_text("cpus = 3\n")
    settings = settings_of(repository / "deep" / "er", user_file)
    assert (settings["cpus"], settings.source("cpus")) == (3, str(repository / "outlast.toml"))
    settings = settings_of(repository, user_file, OUTLAST_CPUS="4")
    assert (settings["cpus"], settings.source("cpus")) == (4, "OUTLAST_CPUS")
    settings = settings_of(repository, user_file, {"cpus": 5}, OUTLAST_CPUS="4")
    assert (settings["cpus"], settings.source("cpus")) == (5, "--cpus")
    assert settings_of(repository, user_file, {"cpus": None}, OUTLAST_CPUS="4")["cpus"] == 4


def test_the_nearest_file_is_used_alone_and_none_outside_of_the_repository(repository: Path, user_file: Path) -> None:
    (repository.parent / "outlast.toml").write_text("cpus = 9\n")
    assert settings_of(repository / "deep", user_file)["cpus"] == 1
    (repository / "outlast.toml").write_text("cpus = 3\ngpus = 1\n")
    (repository / "deep" / "pyproject.toml").write_text("[tool.outlast]\ncpus = 4\n")
    settings = settings_of(repository / "deep" / "er", user_file)
    assert (settings["cpus"], settings["gpus"]) == (4, 0)
    assert settings.source("cpus").startswith("[tool.outlast] of ")


def test_outside_of_a_repository_only_the_directory_itself_speaks(tmp_path: Path, user_file: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "outlast.toml").write_text("cpus = 3\n")
    assert settings_of(tmp_path / "a", user_file)["cpus"] == 3
    assert settings_of(tmp_path / "a" / "b", user_file)["cpus"] == 1


@pytest.mark.parametrize(
    "text", ["[tool]\noutlast = {cpus = 2}\n", "[tool.outlast]\ncpus = 2\n", 'tool."outlast".cpus = 2\n']
)
def test_the_table_of_pyproject_is_found_however_it_is_written(repository: Path, user_file: Path, text: str) -> None:
    (repository / "pyproject.toml").write_text(text)
    assert settings_of(repository, user_file)["cpus"] == 2


def test_a_pyproject_that_never_names_us_is_not_even_parsed(repository: Path, user_file: Path) -> None:
    (repository / "pyproject.toml").write_text("this is = = not toml\n")
    assert settings_of(repository, user_file)["cpus"] == 1


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ('max-run = "2h"', "max-run", 7200.0),
        ("max_run = 90", "max-run", 90.0),
        ('stall = "0"', "stall", 0.0),
        ('resume-args = ["--resume", "last.pt"]', "resume-args", ("--resume", "last.pt")),
        ("resume_args = \"--resume 'a b'\"", "resume-args", ("--resume", "a b")),
        ('labels = { team = "vision" }', "labels", {"team": "vision"}),
        ("env = { LR = 0.1, FAST = true }", "env", {"LR": "0.1", "FAST": "true"}),
        ('name = "spirals"', "name", "spirals"),
        ('checkpoint-dir = "out"', "checkpoint-dir", "out"),
    ],
)
def test_files_hold_every_kind_of_value(repository: Path, user_file: Path, text: str, name: str, value: object) -> None:
    (repository / "outlast.toml").write_text(text + "\n")
    assert settings_of(repository, user_file)[name] == value


def test_tables_are_joined_name_by_name(repository: Path, user_file: Path) -> None:
    user_file.write_text('labels = { who = "me", team = "mine" }\n')
    (repository / "outlast.toml").write_text('labels = { team = "vision" }\n')
    settings = settings_of(repository, user_file, {"labels": {"run": "1"}})
    assert settings["labels"] == {"who": "me", "team": "vision", "run": "1"}
    assert settings.source("labels") == f"--labels, {repository / 'outlast.toml'}, {user_file}"


@pytest.mark.parametrize(
    "text",
    [
        "cpu = 2",
        'home-dir = "x"',
        "cpus = 0",
        "cpus = 1.5",
        "cpus = true",
        'cpus = "many"',
        "cpus = [1]",
        "on = 3",
        'name = "A b"',
        'on = ""',
        'max-run = "soon"',
        "resume-args = 3",
        "resume-args = [1]",
        'resume-args = "\'"',
        "labels = 3",
        'labels = { "" = "x" }',
        'env = { WANDB_API_KEY = "abc" }',
        "env = { A = [] }",
        "not toml",
        "a = " + "[" * 3000,
        "\xff",
    ],
)
def test_a_wrong_file_is_named_with_what_is_legal(repository: Path, user_file: Path, text: str) -> None:
    (repository / "outlast.toml").write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError) as error:
        settings_of(repository, user_file)
    assert "outlast.toml" in error.value.message and error.value.hint


def test_an_unknown_key_is_answered_with_the_legal_ones(repository: Path, user_file: Path) -> None:
    user_file.write_text("gpu = 1\n")
    with pytest.raises(UsageError) as error:
        settings_of(repository, user_file)
    assert all(setting.name in error.value.hint for setting in SETTINGS)


def test_a_wrong_variable_is_named(repository: Path, user_file: Path) -> None:
    with pytest.raises(UsageError, match="OUTLAST_CPUS"):
        settings_of(repository, user_file, OUTLAST_CPUS="two")


@pytest.mark.parametrize(("name", "wrong"), [("cpus", "two"), ("retries", "-5"), ("name", "A B"), ("disk-gb", "1")])
def test_a_hint_is_written_as_what_it_mends(repository: Path, user_file: Path, name: str, wrong: str) -> None:
    variable = f"OUTLAST_{name.upper().replace('-', '_')}"
    with pytest.raises(UsageError) as raised:
        settings_of(repository, user_file, None, **{variable: wrong})
    hinted, _, value = raised.value.hint.strip("`").partition("=")
    assert hinted == variable and settings_of(repository, user_file, None, **{variable: value}).source(name) == variable
    file = repository / "outlast.toml"
    file.write_text(f'{name} = "{wrong}"')
    with pytest.raises(UsageError) as raised:
        settings_of(repository, user_file)
    file.write_text(raised.value.hint.strip("`"))
    assert settings_of(repository, user_file).source(name) == str(file)


def test_what_the_trainer_is_told_is_no_setting(repository: Path, user_file: Path) -> None:
    settings = settings_of(repository, user_file, OUTLAST_CHECKPOINT_DIR="/x", OUTLAST_OUTPUT_DIR="/y", OUTLAST_JOB="j")
    assert settings["checkpoint-dir"] == settings["output-dir"] == ""


def test_a_cloned_repository_may_not_say_where_data_goes(repository: Path, user_file: Path) -> None:
    file = repository / "outlast.toml"
    file.write_text('home = "/elsewhere"\ncpus = 2\n')
    settings = settings_of(repository, user_file)
    assert settings["cpus"] == 2
    with pytest.raises(UsageError) as error:
        settings["home"]
    assert "outlast config --trust" in error.value.hint and "/elsewhere" in error.value.message
    assert settings.found["home"].untrusted == file
    assert settings_of(repository, user_file, OUTLAST_HOME="/mine")["home"] == "/mine"
    assert settings_of(repository, user_file, {"home": "/mine"})["home"] == "/mine"


def test_a_yes_holds_for_this_path_and_this_content_alone(repository: Path, user_file: Path, tmp_path: Path) -> None:
    file = repository / "outlast.toml"
    file.write_text('home = "there"\n')
    trust(file, user_file.parent)
    assert settings_of(repository, user_file)["home"] == str(repository / "there")
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    (other / "outlast.toml").write_bytes(file.read_bytes())
    with pytest.raises(UsageError):
        settings_of(other, user_file)["home"]
    file.write_text('home = "there"\n# changed\n')
    with pytest.raises(UsageError):
        settings_of(repository, user_file)["home"]


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"x": 1}', "[" * 100000, "\0"])
def test_a_damaged_trust_list_trusts_nothing(repository: Path, user_file: Path, damage: str) -> None:
    file = repository / "outlast.toml"
    file.write_text('home = "there"\n')
    (user_file.parent / "trusted.json").write_text(damage)
    with pytest.raises(UsageError):
        settings_of(repository, user_file)["home"]
    trust(file, user_file.parent)
    assert settings_of(repository, user_file)["home"]


def test_the_users_own_file_needs_no_yes(repository: Path, user_file: Path) -> None:
    user_file.write_text('home = "~/jobs"\n')
    assert settings_of(repository, user_file, HOME="/users/me")["home"] == "/users/me/jobs"
    user_file.write_text('home = "gs://bucket/x"\n')
    assert settings_of(repository, user_file)["home"] == "gs://bucket/x"


def test_without_a_file_no_parser_is_imported(repository: Path, user_file: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom outlast.spec.load import load\n"
        f"load({{}}, {{}}, Path({str(repository)!r}), Path({str(user_file)!r}))\n"
        "print(sorted({'tomllib', 'tomli', 'hashlib', 'shlex', 'difflib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
