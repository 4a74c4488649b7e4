"""Links ship as what they lead to inside of the bundle, and lead nothing in from outside."""

from __future__ import annotations

from pathlib import Path

from tests.bundle.working import Working


def test_links_to_files_inside_become_files(working: Working) -> None:
    working.write("real/a.py", "content", 0o755)
    (working.directory / "link.py").symlink_to("real/a.py")
    (working.directory / "chain.py").symlink_to("link.py")
    (working.directory / "absolute.py").symlink_to(working.directory / "real/a.py")
    working.commit()
    assert working.shipped() == dict.fromkeys(["real/a.py", "link.py", "chain.py", "absolute.py"], (b"content", 0o755))


def test_a_link_to_a_directory_inside_becomes_a_copy_of_what_ships_of_it(working: Working) -> None:
    working.write(".gitignore", "*.log\n")
    working.write("real/deep/a.py", "a")
    working.write("real/a.log")
    (working.directory / "real" / "link.py").symlink_to("deep/a.py")
    (working.directory / "copy").symlink_to("real")
    working.commit()
    shipped = working.shipped()
    assert set(shipped) == {".gitignore", "real/deep/a.py", "real/link.py", "copy/deep/a.py", "copy/link.py"}
    working.write("real/deep/a.py", "b")
    assert working.shipped()["copy/deep/a.py"][0] == b"b"


def test_links_that_lead_out_nowhere_or_around_are_left_out_and_told(working: Working, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("secret")
    working.write("sub/a.py")
    working.write(".env", "KEY=1")
    links: dict[str, str | Path] = {
        "outside": tmp_path / "outside.txt",
        "relative": "../outside.txt",
        "etc": "/etc",
        "gone": "nothing",
        "sub/around": "..",
        "self": "self",
        "login": ".env",
        "git": ".git/config",
    }
    for name, to in links.items():
        (working.directory / name).symlink_to(to)
    working.git("add", "-A")
    assert set(working.shipped()) == {"sub/a.py"}
    told = working.left_out()
    assert set(told) == {*links, ".env"}
    assert told["outside"] == told["relative"] == told["etc"] == "a link to outside of the bundle"
    assert told["gone"] == told["self"] == "a link to nothing"
    assert told["sub/around"] == "a link to a directory around it"
    assert told["login"] == told["git"] == "a link to what is left out"


def test_a_link_that_is_turned_elsewhere_ships_the_other_content(working: Working) -> None:
    working.write("a", "a")
    working.write("b", "b")
    link = working.directory / "link"
    link.symlink_to("a")
    working.commit()
    working.settle()
    assert working.shipped()["link"][0] == b"a"
    link.unlink()
    link.symlink_to("b")
    assert working.shipped()["link"][0] == b"b"


def test_a_link_to_nothing_ships_once_there_is_something(working: Working) -> None:
    working.write("a", "a")
    working.write(".gitignore", "late\n")
    (working.directory / "link").symlink_to("late")
    working.commit()
    assert "link" not in working.shipped()
    working.write("late", "here")
    assert working.shipped()["link"][0] == b"here"


def test_a_tracked_directory_that_became_a_link_leads_nothing_in(working: Working, tmp_path: Path) -> None:
    working.write("conf/a.txt", "mine")
    working.write("train.py")
    working.commit()
    working.settle()
    working.pack()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.txt").write_text("foreign")
    (working.directory / "conf").rename(tmp_path / "conf")
    (working.directory / "conf").symlink_to(tmp_path / "elsewhere")
    assert set(working.shipped()) == {"train.py"}
    assert working.left_out() == {"conf": "a link to outside of the bundle"}
