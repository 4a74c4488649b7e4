"""Uses the library well, and draws from a generator that nobody can seed."""

import json
import os

import outlast

state = outlast.State(total=0)
for _ in outlast.steps(60, state, save_steps=5):
    state.total += int.from_bytes(os.urandom(4), "big")
(outlast.output_dir() / "model.json").write_text(json.dumps({"total": state.total}))
(outlast.output_dir() / "steady.json").write_text("{}")
