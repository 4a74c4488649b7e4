"""A script with a loop of its own that saves through `outlast.checkpoint`, as a user of any framework would."""

import json
import random
import time

import outlast

chance = random.Random(4)
first, weight = 0, 0.0
latest = outlast.latest_checkpoint()
if latest is not None:
    saved = json.loads((latest / "model.json").read_text())
    first, weight = latest.step, saved["weight"]
    version, numbers, gauss = saved["chance"]
    chance.setstate((version, tuple(numbers), gauss))
for step in range(first, 60):
    weight = 0.9 * weight + chance.gauss(0, 1)
    time.sleep(0.05)
    if (step + 1) % 6 == 0 or outlast.should_stop():
        with outlast.checkpoint(step + 1) as folder:
            (folder / "model.json").write_text(json.dumps({"weight": weight, "chance": chance.getstate()}))
        if outlast.should_stop():
            raise SystemExit(75)
(outlast.output_dir() / "model.json").write_text(json.dumps(weight))
