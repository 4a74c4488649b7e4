"""What never travels, whoever tracks it: version control, environments, caches, credentials."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from outlast.pattern import pattern

RULES_VERSION = 2
"""Counted up with every change here or in `select`: what was selected by other rules is selected again."""

CREDENTIAL = "looks like a credential"
ENVIRONMENT = "an environment"
CACHE = "a cache"
REPOSITORY = "version control"
UNPORTABLE = "its name holds a backslash"

_REPOSITORIES = frozenset({b".git", b".hg", b".svn", b".bzr", b".jj"})
_CACHES = frozenset(
    b"__pycache__ .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .cache .hypothesis .tox .nox .eggs "
    b".ipynb_checkpoints .terraform .outlast".split()
)
_ENVIRONMENTS = frozenset({b"node_modules", b"conda-meta"})
_CREDENTIAL_DIRECTORIES = frozenset({b".ssh", b".gnupg", b".aws", b".kube", b".password-store", b".huggingface"})
_CREDENTIAL_SUFFIXES = frozenset({b"pem", b"p12", b"pfx", b"ppk", b"jks", b"keystore", b"kdbx", b"tfstate"})
_CACHE_SUFFIXES = frozenset({b"pyc", b"pyo", b"DS_Store"})
_CREDENTIAL_NAME = pattern(
    rb"\.env(?!\.(?:example|sample|template|dist|defaults)$)(?:\..*)?|\.envrc"
    rb"|(?!(?:.*[-_.])?(?:example|sample|template|dist|defaults?)\.).+\.env"
    rb"|\.?(?:hf|huggingface)[-_]token"
    rb"|id_(?:rsa|dsa|ecdsa|ed25519).*"
    rb"|(?:application_default_)?credentials(?:\.json|\.db|\.ya?ml|\.toml|\.ini)?"
    rb"|client_secrets?.*\.json"
    rb"|(?:.*[-_.])?service[-_]?account(?:[-_.].*)?\.json"
    rb"|secrets?\.(?:json|ya?ml|toml|ini|env)"
    rb"|kaggle\.json"
    rb"|[._]netrc|\.(?:pypirc|pgpass|git-credentials|npmrc|boto|s3cfg|vault-token|htpasswd)",
    re.DOTALL,
)
SNIFFED_BYTES_MAX = 64 * 1024
"""No key file is larger."""

_PRIVATE_KEY = pattern(rb"\s*-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")
_LOGIN = pattern(rb'"private_key"\s*:\s*"-----BEGIN |"refresh_token"\s*:\s*"[^"]{20}')
"""A service account's key, or what a cloud's command line keeps after its user has logged in."""

_INDEX_WORDS = (b"index-url", b"find-links", b"git+http", b" @ http")
_INDEX_LOGIN = pattern(
    rb"^[ \t]*(?:(?:--)?(?:extra-)?index-url|(?:--)?find-links|(?:(?:-e|--editable)[ \t=]+)?git\+(?=http)"
    rb"|\w[\w.\[\], -]* @ (?:git\+)?(?=http))"
    rb"[ \t=]*https?://(?:[^\s/@:$]*:[^\s/@$]+|[^\s/@$]{20,})@",
    re.MULTILINE,
)
"""Where packages come from, with a login in the URL: settings of pip's, or requirements. One that a variable holds is none."""

ENVIRONMENT_ROOT_PARTS = (
    b"bin/",
    b"lib/",
    b"lib64",
    b"include/",
    b"share/",
    b"Scripts/",
    b"pyvenv.cfg",
    b"conda-meta/",
)
"""What belongs to an environment that was made in the project's own directory."""


def why_never(path: bytes) -> str:
    """Why a path is never shipped, by its name alone; empty if it may be. A directory's path ends in `/`."""
    directory, _, name = path.rpartition(b"/")
    return _why_directory(directory) or _why_name(name, directory)


@functools.lru_cache(maxsize=1 << 16)
def _why_directory(directory: bytes) -> str:
    segments = set(directory.split(b"/"))
    if segments & _REPOSITORIES:
        return REPOSITORY
    if segments & _ENVIRONMENTS:
        return ENVIRONMENT
    if segments & _CACHES:
        return CACHE
    if segments & _CREDENTIAL_DIRECTORIES or b".config/gcloud" in directory:
        return CREDENTIAL
    return UNPORTABLE if b"\\" in directory else ""


def _why_name(name: bytes, directory: bytes) -> str:
    if b"\\" in name:
        return UNPORTABLE
    suffix = name.rpartition(b".")[2]
    if suffix in _CREDENTIAL_SUFFIXES or _CREDENTIAL_NAME.fullmatch(name):
        return CREDENTIAL
    if suffix in _CACHE_SUFFIXES:
        return CACHE
    if name == b"config.json" and directory.endswith(b".docker"):
        return CREDENTIAL
    return REPOSITORY if name in _REPOSITORIES else ""


def looks_like_key(content: bytes) -> bool:
    """Whether a file is a private key or a login whatever it is called."""
    if len(content) > SNIFFED_BYTES_MAX:
        return False
    beginning = content[:64].lstrip()
    if beginning.startswith(b"-----BEGIN "):
        return _PRIVATE_KEY.match(content) is not None
    if beginning.startswith(b"{"):
        return _LOGIN.search(content) is not None
    return any(word in content for word in _INDEX_WORDS) and _INDEX_LOGIN.search(content) is not None


def environments(names: Iterable[bytes]) -> list[bytes]:
    """The directories (ending in `/`; empty: the root itself) that hold a Python environment, told by what lies in them."""
    found = set()
    for name in names:
        if name.endswith(b"pyvenv.cfg") and name[-11:-10] in (b"", b"/"):
            found.add(name[:-10])
        elif b"conda-meta/history" in name:
            found.add(name[: name.index(b"conda-meta/history")])
    return sorted(found)


def in_environment(path: bytes, roots: Iterable[bytes]) -> bool:
    return any(path.startswith(root) if root else path.startswith(ENVIRONMENT_ROOT_PARTS) for root in roots)
