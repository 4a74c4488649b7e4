"""The environment that points outlast, gcloud and Google's libraries at the emulator."""

from __future__ import annotations

PROJECT = "emulated"


def variables(url: str, time_scale: float = 1.0) -> dict[str, str]:
    """Name -> value, for one emulator at `url` (`http://127.0.0.1:PORT`)."""
    address = url.split("://", 1)[1]
    overrides = {
        f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{api}": f"{url}/{path}"
        for api, path in (
            ("STORAGE", "storage/v1/"),
            ("COMPUTE", "compute/v1/"),
            ("AIPLATFORM", ""),
            ("BATCH", ""),
            ("LOGGING", ""),
            ("ARTIFACTREGISTRY", ""),
            ("TPU", ""),
            ("IAM", ""),
            ("CLOUDRESOURCEMANAGER", ""),
            ("SERVICEUSAGE", ""),
            ("SECRETMANAGER", ""),
            ("CLOUDBILLING", ""),
        )
    }
    return {
        "OUTLAST_EMULATOR": url,
        "STORAGE_EMULATOR_HOST": url,
        "GOOGLE_CLOUD_PROJECT": PROJECT,
        "CLOUDSDK_CORE_PROJECT": PROJECT,
        "CLOUDSDK_AUTH_DISABLE_CREDENTIALS": "true",
        "CLOUDSDK_CORE_CHECK_GCE_METADATA": "false",
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "true",
        **overrides,
        "GCE_METADATA_HOST": address,
        "GCE_METADATA_ROOT": address,
        "GCE_METADATA_IP": address,
        "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false",
        **({"OUTLAST_EMULATOR_TIME_SCALE": f"{time_scale:g}"} if time_scale != 1.0 else {}),
    }
