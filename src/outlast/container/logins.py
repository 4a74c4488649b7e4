"""Who we are to a registry: Google's own login for Google's registries, else what `docker login` or `podman login` has kept."""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from outlast.errors import Denied
from outlast.google.proxies import is_loopback
from outlast.pattern import pattern
from outlast.spec.plain_file import read_plain

GOOGLE_USER = "oauth2accesstoken"
CONFIG_BYTES_MAX = 4 << 20
HELPER_SECONDS_MAX = 30.0

_GOOGLE = pattern(r"[a-z0-9-]+-docker\.pkg\.dev|(?:[a-z]+\.)?gcr\.io")
_HELPER = pattern(r"[A-Za-z0-9_.-]+")

Login = tuple[str, str]
"""(user, password)."""

AccessToken = Callable[[], str]


def is_google(host: str) -> bool:
    return _GOOGLE.fullmatch(host) is not None


def login_for(host: str, environ: Mapping[str, str], access_token: AccessToken | None = None) -> Login | None:
    """None: nobody has logged in there. A token of Google's goes to registries of Google's alone."""
    if is_google(host) or _is_emulator(host, environ):
        token = access_token() if access_token is not None else google_token(environ)
        return (GOOGLE_USER, token) if token else None
    for path in _config_files(environ):
        found = _of_config(path, host, environ)
        if found is not None:
            return found
    return None


def _is_emulator(host: str, environ: Mapping[str, str]) -> bool:
    from outlast.google.endpoints import EMULATOR, endpoints

    return bool(environ.get(EMULATOR)) and endpoints(environ).storage.endswith(f"//{host}")


def google_token(environ: Mapping[str, str]) -> str:
    """A fresh access token of whoever is logged in to Google; empty on an emulator. `Denied` if nobody is."""
    from outlast.clock import SYSTEM
    from outlast.google.auth.find import find_credentials
    from outlast.google.connections import Connections
    from outlast.google.endpoints import endpoints
    from outlast.google.errors import ApiError
    from outlast.google.wire import NoAnswer

    try:
        return find_credentials(environ, endpoints(environ), Connections(environ), SYSTEM).renew().value
    except (NoAnswer, ApiError) as error:
        raise Denied(f"Google gives no token: {error}", hint="`gcloud auth application-default login`") from error


def _config_files(environ: Mapping[str, str]) -> Iterator[Path]:
    home = Path(environ.get("HOME") or os.path.expanduser("~"))
    if environ.get("REGISTRY_AUTH_FILE"):
        yield Path(environ["REGISTRY_AUTH_FILE"])
    if environ.get("XDG_RUNTIME_DIR"):
        yield Path(environ["XDG_RUNTIME_DIR"], "containers", "auth.json")
    yield Path("/run/containers") / str(os.getuid()) / "auth.json"
    yield home / ".config" / "containers" / "auth.json"
    yield docker_config_dir(environ) / "config.json"


def docker_config_dir(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("DOCKER_CONFIG") or Path(environ.get("HOME") or os.path.expanduser("~"), ".docker"))


def config_with(logins: Mapping[str, Login], environ: Mapping[str, str]) -> dict[str, Any]:
    """What a builder reads: `logins` by host, and all that its user has logged in to.

    A store for all logins would be asked for ours too: it becomes the helper for those hosts that it knows.
    """
    documents = [_document(path) for path in _config_files(environ)]
    kept: dict[str, Any] = {**documents[-1]}  # docker's own: where its server is, and more
    kept.pop("credsStore", None)
    auths: dict[str, Any] = {}
    helpers: dict[str, Any] = {}
    for document in reversed(documents):  # the first one counts most
        store = document.get("credsStore")
        for host, entry in _mapping(document, "auths").items():
            if store and not (isinstance(entry, dict) and entry.get("auth")):
                helpers[host] = store
            else:
                auths[host] = entry
        helpers.update(_mapping(document, "credHelpers"))
    for host, login in logins.items():
        helpers.pop(host, None)
        auths[host] = {"auth": base64.b64encode(":".join(login).encode()).decode()}
    return {**kept, "auths": auths, "credHelpers": helpers}


def _mapping(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = document.get(name)
    return found if isinstance(found, dict) else {}


def _document(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(read_plain(path, CONFIG_BYTES_MAX))
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _of_config(path: Path, host: str, environ: Mapping[str, str]) -> Login | None:
    document = _document(path)
    names = [host, f"https://{host}", f"https://{host}/v1/", f"https://{host}/v2/"]
    if host == "docker.io":
        names += ["https://index.docker.io/v1/", "index.docker.io"]
    helpers, logins = _mapping(document, "credHelpers"), _mapping(document, "auths")
    for name in names:
        helper = helpers.get(name)
        if isinstance(helper, str):
            return _by_helper(helper, name, environ)
        kept = logins.get(name)
        if isinstance(kept, dict):
            found = _kept(kept)
            if found is not None:
                return found
            if isinstance(document.get("credsStore"), str):
                return _by_helper(document["credsStore"], name, environ)
    return None


def _kept(entry: Mapping[str, object]) -> Login | None:
    try:
        user, colon, password = base64.b64decode(str(entry.get("auth") or "")).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return (user, password.rstrip("\0")) if colon else None


def _by_helper(helper: str, name: str, environ: Mapping[str, str]) -> Login | None:
    """As docker asks them: the server's name on stdin, JSON on stdout."""
    if not _HELPER.fullmatch(helper):
        return None
    import subprocess  # most logins do without a helper

    command = [f"docker-credential-{helper}", "get"]
    try:
        done = subprocess.run(
            command, input=name.encode(), capture_output=True, timeout=HELPER_SECONDS_MAX, check=True, env=dict(environ)
        )
        document = json.loads(done.stdout)
        return str(document["Username"]), str(document["Secret"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        return None


def may_be_told(registry: str, realm: str) -> bool:
    """Whether the place that a registry names for logins may be given one: by TLS, or on this computer for a registry on it."""
    from urllib.parse import urlsplit

    parts = urlsplit(realm)
    if parts.scheme == "https":
        return True
    return parts.scheme == "http" and is_loopback(parts.hostname) and is_loopback(urlsplit(registry).hostname)
