"""Cloud Build on a loopback port, for Google's own gcloud: checks a build by Google's description of it, and really builds, by buildah."""

from __future__ import annotations

import contextlib
import http.server
import io
import json
import os
import subprocess
import tarfile
import tempfile
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from outlast_emulator.testing import Running
from tools import take_discovery

DOCKER = "gcr.io/cloud-builders/docker"
NAME = "projects/emulated/locations/global/builds/one"


class Builds:
    def __init__(self, emulator: Running, environ: Mapping[str, str]) -> None:
        self._emulator = emulator
        self._environ = environ
        self._schemas = take_discovery.take("cloudbuild.v1")["schemas"]
        self.build: dict[str, Any] = {}
        self.said = ""

    def create(self, build: dict[str, Any]) -> dict[str, Any]:
        self._check(build, "Build")
        kept = {"id": "one", "projectId": "emulated", "name": NAME, "logsBucket": "gs://emulated_cloudbuild"}
        self.build = {**build, **kept, "status": "QUEUED", "createTime": "2026-01-01T00:00:00Z", "logUrl": "nowhere"}
        threading.Thread(target=self._carry_out, daemon=True).start()
        kind = "type.googleapis.com/google.devtools.cloudbuild.v1.BuildOperationMetadata"
        return {"name": "operations/build/emulated/one", "metadata": {"@type": kind, "build": self.build}}

    def _check(self, value: Any, schema: str) -> None:
        """Every field is one that Google knows, all the way down."""
        properties = self._schemas[schema]["properties"]
        assert value.keys() <= properties.keys(), (schema, sorted(value))
        for name, one in value.items():
            kind = properties[name]
            for item in one if kind.get("type") == "array" else [one]:
                inner = kind.get("items", kind)
                if "$ref" in inner:
                    self._check(item, inner["$ref"])

    def _carry_out(self) -> None:
        source = self.build["source"]["storageSource"]
        data = self._emulator.get(source["bucket"], source["object"], alt="media").body
        with tempfile.TemporaryDirectory() as context:
            with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                archive.extractall(context, filter="data")
            commands = [["buildah", *step["args"]] for step in self.build["steps"] if step["name"] == DOCKER]
            commands += [["buildah", "push", image] for image in self.build["images"]]
            done = 0
            for command in commands:
                command[2:2] = ["--tls-verify=false"]
                run = subprocess.run(
                    command,
                    cwd=context,
                    env={**os.environ, **self._environ},
                    capture_output=True,
                    text=True,
                    check=False,
                )
                self.said += run.stdout + run.stderr
                done = done or run.returncode
        self.build = {**self.build, "status": "FAILURE" if done else "SUCCESS", "finishTime": "2026-01-01T00:01:00Z"}


@contextlib.contextmanager
def cloud_build(emulator: Running, environ: Mapping[str, str]) -> Iterator[tuple[str, Builds]]:
    """Its URL, and what it was asked for. `environ`: for buildah."""
    builds = Builds(emulator, environ)

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            try:
                self._answer(200, builds.create(json.loads(body)))
            except AssertionError as error:
                self._answer(400, {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": str(error)}})

        def do_GET(self) -> None:
            self._answer(200, builds.build)

        def _answer(self, code: int, document: dict[str, Any]) -> None:
            data = json.dumps(document).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", builds
        server.shutdown()
