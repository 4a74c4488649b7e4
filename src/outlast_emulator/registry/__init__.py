"""A registry of container images, as Artifact Registry is one: the OCI distribution API at `/v2/`.

    http://127.0.0.1:PORT/v2/                                    401 with where tokens are to be had, as Google answers
    /v2/token?scope=...                                          Basic `oauth2accesstoken:TOKEN` becomes a Bearer token
    /v2/NAME/blobs/uploads/                                      POST: a new upload; `?digest=` whole, `?mount=D&from=OTHER` a mount
    /v2/NAME/blobs/uploads/ID                                    PATCH: a piece, PUT `?digest=`: the end, GET: how far, DELETE
    /v2/NAME/blobs/DIGEST                                        GET (ranges too), HEAD, DELETE
    /v2/NAME/manifests/TAG-OR-DIGEST                             GET, HEAD, PUT, DELETE
    /v2/NAME/tags/list, /v2/_catalog                             GET with `n` and `last`

NAME is `PROJECT/REPOSITORY/IMAGE` at Google (`us-central1-docker.pkg.dev/emulated/outlast/IMAGE` there is
`127.0.0.1:PORT/emulated/outlast/IMAGE` here); here it may have any number of parts, and what is pushed makes its repository.
A token of the emulator's decides who calls (`Authorization: Bearer`, or Basic with `oauth2accesstoken`); without one it is the
owner, unless the switch `require_login` is on. Contents are files below `registry/` of the data directory, streamed both ways.

`library/python` is there from the beginning, with every tag: an image for the emulator's own containers alone, whose file system
is that of this computer (see `base`).
"""

from __future__ import annotations
