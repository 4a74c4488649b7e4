"""The tables of Vertex AI's model."""

from __future__ import annotations

from outlast_emulator import database


class Database(database.Database):
    schema = """
CREATE TABLE IF NOT EXISTS jobs (
    id INTEGER PRIMARY KEY, region TEXT NOT NULL, created_at REAL NOT NULL, document TEXT NOT NULL, state TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS usage (
    id INTEGER PRIMARY KEY AUTOINCREMENT, job INTEGER NOT NULL, name TEXT NOT NULL, region TEXT NOT NULL,
    usd_per_hour REAL NOT NULL, began_at REAL NOT NULL, ended_at REAL);
CREATE INDEX IF NOT EXISTS usage_open ON usage (job) WHERE ended_at IS NULL;
"""
