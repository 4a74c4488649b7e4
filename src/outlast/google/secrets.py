"""Secret Manager: one method per request that outlast makes. Values come out of it and stand in no message."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping

from outlast.google.errors import ApiError
from outlast.google.json_api import Document, api, change_policy
from outlast.google.transport import Transport
from outlast.google.wire import NoAnswer


class SecretApi:
    """A secret is `projects/P/secrets/S`, a version `.../versions/3` or `.../versions/latest`."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self._api = api(transport, "secretmanager")

    def access(self, version: str) -> bytes:
        answer = self._api.get(f"{version}:access")
        try:
            data = base64.b64decode(answer["payload"]["data"], validate=True)
        except (KeyError, TypeError, binascii.Error, ValueError):
            # Without the answer's own words: it is the secret.
            raise NoAnswer("the answer holds no value", sent=True) from None
        return data

    def find_version(self, version: str) -> Document:
        return self._api.get(version)

    def create(self, project: str, secret: str, labels: Mapping[str, str], region: str) -> bool:
        """False: it was there. `region`: where it is kept if the organisation does not let Google choose."""
        replications: tuple[Document, ...] = ({"automatic": {}},)
        if region:
            replications += ({"userManaged": {"replicas": [{"location": region}]}},)
        for replication in replications:
            try:
                self._api.post(
                    f"projects/{project}/secrets",
                    {"replication": replication, "labels": dict(labels)},
                    {"secretId": secret},
                )
                return True
            except ApiError as error:
                if error.status == 409:
                    return False
                if error.status != 400 or replication is replications[-1]:
                    raise
        return False

    def add(self, secret: str, value: bytes) -> str:
        """The new version's name."""
        payload = {"data": base64.b64encode(value).decode()}
        return str(self._api.post(f"{secret}:addVersion", {"payload": payload})["name"])

    def list(self, project: str, label: str) -> Iterator[Document]:
        """`label`: `key=value`."""
        return self._api.pages(f"projects/{project}/secrets", "secrets", {"filter": f"labels.{label}"})

    def delete(self, secret: str) -> bool:
        """False: it was gone."""
        return self._api.delete(secret)

    def bind(self, secret: str, role: str, member: str) -> bool:
        return change_policy(
            lambda: self._api.get(f"{secret}:getIamPolicy"),
            lambda policy: self._api.post(f"{secret}:setIamPolicy", {"policy": policy}),
            role,
            member,
            bound=True,
        )
