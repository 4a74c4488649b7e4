"""The tables of Compute Engine's model.

A transaction is also what makes a change of several resources whole for everybody else. Nothing slow is done within one: machines
are started and ended outside.
"""

from __future__ import annotations

from outlast_emulator import database

_SCHEMA = """
CREATE TABLE IF NOT EXISTS resources (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, project TEXT NOT NULL, scope TEXT NOT NULL, name TEXT NOT NULL,
    document TEXT NOT NULL, state TEXT NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS resources_by_name ON resources (kind, project, scope, name);
CREATE TABLE IF NOT EXISTS tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, due_at REAL NOT NULL, name TEXT NOT NULL, arguments TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS requests (
    project TEXT NOT NULL, id TEXT NOT NULL, method TEXT NOT NULL, target TEXT NOT NULL,
    scope TEXT NOT NULL, operation TEXT NOT NULL, PRIMARY KEY (project, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS usage (
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, resource INTEGER NOT NULL, name TEXT NOT NULL,
    zone TEXT NOT NULL, usd_per_hour REAL NOT NULL, began_at REAL NOT NULL, ended_at REAL);
CREATE INDEX IF NOT EXISTS usage_open ON usage (resource) WHERE ended_at IS NULL;
"""


class Database(database.Database):
    schema = _SCHEMA
