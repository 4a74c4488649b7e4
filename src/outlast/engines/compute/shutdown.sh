#!/bin/bash
# A rented machine of outlast is told to go: the agent is told so, and has what time there is. Nothing is ever filled in here.
set -u
base=${OUTLAST_BASE:-/var/lib/outlast}
pid=$(cat "$base/pid" 2>/dev/null) || exit 0
kill -TERM "$pid" 2>/dev/null || exit 0
while kill -0 "$pid" 2>/dev/null; do sleep 0.2; done
