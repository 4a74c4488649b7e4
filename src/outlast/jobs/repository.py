"""The project's place for images, made when the first one is pushed, as a bucket is made with the first job."""

from __future__ import annotations

from outlast.container.reference import Reference
from outlast.google.artifacts import ArtifactsClient
from outlast.google.connect import connect
from outlast.google.errors import ApiError
from outlast.google.wire import NoAnswer
from outlast.jobs.world import World
from outlast.pattern import pattern

_GOOGLE = pattern(r"(?P<region>[a-z]+-[a-z]+[0-9]+)-docker\.pkg\.dev")


def make_repository(world: World, at: Reference) -> str:
    """What there is to say about it: that it was made. Nothing for a registry that is not Artifact Registry."""
    host = _GOOGLE.fullmatch(at.host)
    parts = at.path.split("/")
    if host is None or len(parts) < 2:
        return ""
    project, name, region = parts[0], parts[1], host["region"]
    transport = connect(world.environ)
    client = ArtifactsClient(transport, project, region)
    seen: bool | None = False
    try:
        seen = _is_there(client, name)
        if seen:
            return ""
        client.make_repository(name, world.clock)
    except (ApiError, NoAnswer) as error:
        if isinstance(error, ApiError) and _is_refused(error) and seen is None:
            return (
                ""  # whoever may push need not be allowed to look or to make one: the push itself says what is missing
            )
        raise transport.explain(error, f"repository `{name}` in `{region}` of project `{project}`") from error
    return f"made repository `{name}` for images in `{region}` of project `{project}`" if seen is False else ""


def _is_there(client: ArtifactsClient, name: str) -> bool | None:
    """None: that is not for this caller to know."""
    try:
        return client.has_repository(name)
    except ApiError as error:
        if not _is_refused(error):
            raise
        return None


def _is_refused(error: ApiError) -> bool:
    return error.status == 403 and not error.metadata.get("service")
