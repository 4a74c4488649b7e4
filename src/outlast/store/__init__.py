"""Bytes by key, with generations."""
