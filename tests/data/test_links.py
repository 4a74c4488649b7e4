"""`--link`: a directory of this computer in the working directory, without a copy."""

from __future__ import annotations

import pytest

from outlast.engines.engine import Capabilities
from outlast.errors import UsageError
from outlast.jobs.asked import Asked
from outlast.jobs.inputs import check_inputs
from tests.cli.user import User
from tests.data.material import make


def test_a_linked_directory_is_seen_under_its_own_name_and_not_copied(user: User) -> None:
    make(user.root / "elsewhere" / "big", {"x": b"here"})
    make(user.work, {"data/y": b"there", ".gitignore": b"data\n"})
    user.write(
        "train.py",
        "import os; print(open('big/x').read(), open('data/y').read(), os.path.islink('data'))\nopen('data/new', 'w')",
    )
    said = user.outlast("run", "--link", "../elsewhere/big", "--link", "data", "train.py")
    assert (said.code, said.out) == (0, "here there True\n"), said.err
    assert "left out" not in said.err
    assert (user.work / "data" / "new").exists()
    assert not [path for path in (user.home / "packs").iterdir() if b"there" in path.read_bytes()]


def test_the_next_attempt_sees_it_again_and_what_it_held_stays(user: User) -> None:
    make(user.work, {"data/y": b"1", ".gitignore": b"data\n"})
    user.write(
        "train.py", "import os\nopen('data/count', 'a').write('x')\nraise SystemExit(os.path.getsize('data/count') < 3)"
    )
    assert user.outlast("run", "--link", "data", "--retries", "5", "train.py").code == 0
    assert (user.work / "data" / "count").read_text() == "xxx" and (user.work / "data" / "y").exists()


@pytest.mark.parametrize(
    ("link", "code", "words"),
    [
        ("nowhere", 3, "there is no"),
        (".", 2, "holds the working directory itself"),
        ("/", 2, "holds the working directory itself"),
    ],
)
def test_a_wrong_link_is_refused(user: User, link: str, code: int, words: str) -> None:
    user.write("train.py", "")
    said = user.outlast("run", "--link", link, "train.py")
    assert said.code == code and words in said.err and "hint: " in said.err, said.err


def test_what_is_linked_or_a_dataset_is_not_shipped_with_the_code(user: User) -> None:
    make(user.work, {"linked/x": b"1", "data/y": b"2", "data/deep/z": b"3", "code/m.py": b"", "dataset.txt": b"4"})
    user.write("train.py", "import os; print(sorted(os.listdir('.')), open('linked/x').read())")
    said = user.outlast("run", "--link", "linked", "--dataset", "data", "train.py")
    assert (said.code, said.out) == (0, "['code', 'dataset.txt', 'linked', 'train.py'] 1\n"), said.err
    assert "Packed 3 files" in said.err and "left out" not in said.err
    user.write("names.py", "print(open('data/y').read())")
    assert (
        "left out `data/y`, 1 byte: left out, but `names.py` names it"
        in user.outlast("run", "--dataset", "data", "names.py").err
    )
    assert user.outlast("run", "--dataset", ".", "train.py").code == 0  # where its code lies is code too


def test_a_link_has_no_name_of_the_bundles(user: User) -> None:
    make(user.work, {"linked/x": b"1"})
    make(user.root / "elsewhere", {"linked/y": b"1"})
    user.write("train.py", "")
    said = user.outlast("run", "--link", "linked", "--dir", "../elsewhere/linked", "train.py")
    assert said.code == 2 and "the bundle has a `linked` of its own" in said.err and "hint: " in said.err


def test_where_machines_are_elsewhere_a_dataset_is_what_is_meant(user: User) -> None:
    make(user.work, {"data/x": b"1"})

    class Elsewhere:
        name = "compute"
        capabilities = Capabilities(gpus=True, same_machine=False, preempts=True)

    with pytest.raises(UsageError, match="does not see this computer's directories") as refused:
        check_inputs(Asked("train.py", links=("data",)), user.work, Elsewhere(), user.work)  # type: ignore[arg-type]
    assert refused.value.hint == "`--dataset data` uploads it"


def test_what_the_arguments_name_and_is_not_shipped_is_said(user: User) -> None:
    make(user.work, {"data/train.csv": b"1,2", "kept.csv": b"3", ".gitignore": b"data\n"})
    make(user.root / "beside", {"val.csv": b"4,5,6"})
    user.write("train.py", "")
    said = user.outlast(
        "run", "train.py", "--", "--data", "data/train.csv", "--val=../beside/val.csv", "kept.csv", "--n=3"
    )
    assert "left out `data/train.csv`, 3 bytes: the arguments name it; `--dataset` takes it along" in said.err
    assert "left out `../beside/val.csv`, 5 bytes: outside of `work`" in said.err
    assert "kept.csv`" not in said.err
