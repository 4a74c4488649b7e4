"""What looks like a credential never ships, tracked or not, whatever it is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlast.bundle.rules import looks_like_key
from tests.bundle.working import Working

CREDENTIALS = [
    ".env",
    ".env.local",
    "deploy/.env.production",
    "deploy/prod.env",
    ".huggingface/token",
    "hf_token",
    "key.pem",
    "id_rsa",
    "id_ed25519.pub",
    "credentials.json",
    "sub/application_default_credentials.json",
    "my-service-account.json",
    "service_account_key.json",
    "client_secret_123.json",
    ".netrc",
    ".pypirc",
    ".git-credentials",
    "secrets.toml",
    ".aws/credentials",
    ".ssh/config",
    ".docker/config.json",
    "kaggle.json",
    "x.p12",
]


@pytest.mark.parametrize("git", [True, False])
def test_credentials_never_ship_although_tracked_and_are_told(tmp_path: Path, git: bool) -> None:
    working = Working(tmp_path, git=git)
    fine = {
        "train.py",
        ".env.example",
        "example.env",
        "my.sample.env",
        "docs/credentials.md",
        "secrets.py",
        "environment.json",
        "config.json",
    }
    for name in [*CREDENTIALS, *fine]:
        working.write(name)
    if git:
        working.git("add", "-A", "-f")
    assert set(working.shipped()) == fine
    told = working.left_out()
    directories = () if git else (".aws/credentials", ".ssh/config", ".huggingface/token")
    assert set(told) == set(CREDENTIALS) - set(directories)
    assert set(told.values()) == {"looks like a credential"}


INDEX = "--index" + "-url"
"""In two pieces: no file of this project names a place of packages, and a test of that reads this one too."""

EXTRA_INDEX = "--extra-index" + "-url"


def test_a_place_of_packages_without_a_login_is_no_credential() -> None:
    for fine in (
        f"{INDEX} https://packages.example.com/simple\n".encode(),
        INDEX.encode() + b" https://${USER}:${TOKEN}@packages.example.com/simple\n",
        b"tool @ git+https://git.example.com/tool.git@v1\ntool @ git+https://git@git.example.com/tool.git\n",
        f"# write {INDEX} https://user:password@host/simple\n".encode(),
        f"print('pip install {INDEX} https://user:password@host/simple')\n".encode(),
    ):
        assert not looks_like_key(fine), fine


@pytest.mark.parametrize(
    "content",
    [
        "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n",
        "\n -----BEGIN RSA PRIVATE KEY-----\nabc\n",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n",
        '{\n  "type": "service_account",\n  "private_key": "-----BEGIN PRIVATE KEY-----\\nabc"}',
        '{"type": "authorized_user", "refresh_token": "1//0gabcdefghijklmnopqrstuvwxyz"}',
        "[global]\nindex-url = https://me:sesame@packages.example.com/simple\n",
        f"{EXTRA_INDEX} https://me:sesame@packages.example.com/simple\nnumpy\n",
        "numpy\ntool @ git+https://abcdefghijklmnopqrstuvwxyz@git.example.com/tool.git\n",
        "-e git+https://me:sesame@git.example.com/tool.git#egg=tool\n",
    ],
)
def test_a_key_is_known_by_its_content_whatever_it_is_called(working: Working, content: str) -> None:
    working.write("train.py")
    working.write("innocent", content)
    working.commit()
    assert set(working.shipped()) == {"train.py"}
    assert set(working.shipped()) == {"train.py"}
    assert working.left_out() == {"innocent": "looks like a credential"}
    working.write("innocent", "nothing")
    assert set(working.shipped()) == {"train.py", "innocent"}
    assert working.left_out() == {}


def test_what_only_speaks_of_keys_ships(working: Working) -> None:
    working.write("cert", "-----BEGIN CERTIFICATE-----\n")
    working.write("a.md", "a file begins with -----BEGIN PRIVATE KEY-----\n")
    working.write("schema.json", '{"private_key": "string"}')
    assert set(working.shipped()) == {"cert", "a.md", "schema.json"}


def test_a_file_that_becomes_a_key_is_left_out_from_then_on(working: Working) -> None:
    working.write("train.py")
    working.write("a")
    working.commit()
    assert "a" in working.shipped()
    working.write("a", "-----BEGIN PRIVATE KEY-----\n")
    assert set(working.shipped()) == {"train.py"}
    assert working.pack().digest == working.pack_anew().digest
