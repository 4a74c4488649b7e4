"""Would train for a day, and saves once an hour."""

import json
import random
import time

import outlast

random.seed(3)
state = outlast.State(weight=0.0)
for _ in outlast.steps(86_400 * 1000, state, save_every="1h"):
    state.weight = 0.5 * state.weight + random.random()
    time.sleep(0.001)
(outlast.output_dir() / "model.json").write_text(json.dumps(state.weight))
