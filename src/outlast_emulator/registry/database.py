"""Which repository has what: rows beside the files of the contents."""

from __future__ import annotations

from outlast_emulator import database


class Database(database.Database):
    schema = """
CREATE TABLE IF NOT EXISTS blobs (
    name TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (name, digest)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS blobs_by_digest ON blobs (digest);
CREATE TABLE IF NOT EXISTS uploads (id TEXT PRIMARY KEY, name TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS manifests (
    name TEXT NOT NULL, digest TEXT NOT NULL, media_type TEXT NOT NULL, put_at REAL NOT NULL,
    PRIMARY KEY (name, digest)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS manifests_by_digest ON manifests (digest);
CREATE TABLE IF NOT EXISTS tags (
    name TEXT NOT NULL, tag TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (name, tag)) WITHOUT ROWID;
"""
