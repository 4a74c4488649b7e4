"""What the descriptions of Cloud Billing's rows call what the table knows by name."""

from __future__ import annotations

FAMILY_WORDS = {
    "n1": ("N1 Predefined Instance",),
    "c2": ("Compute optimized", "Compute optimized Instance"),
    "a2-highgpu": ("A2 Instance",),
    "a2-megagpu": ("A2 Instance",),
    "a2-ultragpu": ("A2 Instance",),
    "a3-highgpu": ("A3 Instance",),
    "a3-megagpu": ("A3Plus Instance", "A3 Plus Instance", "A3 Instance"),
    "a3-ultragpu": ("A3Ultra Instance", "A3 Ultra Instance"),
}
"""What descriptions call a family, where that does not follow from its name."""

ALL_IN_GPUS = ("a4-highgpu",)
"""Families whose whole price is their GPUs'."""

GPU_WORDS = {
    "T4": ("Nvidia Tesla T4 GPU",),
    "V100": ("Nvidia Tesla V100 GPU",),
    "P4": ("Nvidia Tesla P4 GPU",),
    "L4": ("Nvidia L4 GPU",),
    "RTX-PRO-6000": ("RTX 6000 96GB", "Nvidia RTX 6000 96GB", "RTX PRO 6000", "Nvidia RTX PRO 6000 GPU"),
    "A100": ("Nvidia Tesla A100 GPU", "Nvidia A100 GPU"),
    "A100-80GB": ("Nvidia Tesla A100 80GB GPU", "Nvidia A100 80GB GPU"),
    "H100": ("Nvidia H100 80GB GPU",),
    "H100-MEGA": ("Nvidia H100 80GB Mega GPU", "Nvidia H100 Mega 80GB GPU", "Nvidia H100 80GB Plus GPU"),
    "H200": ("Nvidia H200 141GB GPU", "H200 141GB GPU"),
    "B200": ("A4 Nvidia B200 (1 gpu slice)", "Nvidia B200 (1 gpu slice)"),
}
TPU_WORDS = {"v2": "Tpu-v2", "v3": "Tpu-v3", "v4": "Tpu-v4", "v5e": "TpuV5e", "v5p": "TpuV5p", "v6e": "TpuV6e"}
CHIPS_A_ROW = {"v2": 4, "v3": 4, "v4": 4}
"""Older ones are sold four chips at a time."""
