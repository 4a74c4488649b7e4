"""Head goes only from one legal value to the next: launches, attempts, ends, checkpoints."""

from __future__ import annotations

import json

from outlast.testing.simulation.checks.check import FINAL, Check, Document
from outlast.testing.simulation.history import Write

KEPT_MIN = 3
RESUMABLE = FINAL - {"succeeded"}


class Heads(Check):
    def head_written(self, old: Document | None, new: Document, write: Write) -> None:
        if write.condition is None:
            self.violated("head was written without a condition")
        self._check_end(new)
        if old is None:
            if new["state"] != "submitted" or new["attempt"] != 0 or not self._record_is_there(new):
                self.violated(
                    f"the first head is {new['state']}, attempt {new['attempt']}, or its launch has no record"
                )
            return
        if new["launch_id"] != old["launch_id"]:
            self._check_relaunch(old, new)
        else:
            self._check_step(old, new)
        self._check_history(old, new)

    def _record_is_there(self, head: Document) -> bool:
        """The record comes before the head that names it."""
        data = self.world.bucket.peek(self.world.keys.launch(head["launch"]))
        return data is not None and json.loads(data)["id"] == head["launch_id"]

    def _check_end(self, head: Document) -> None:
        """Every final swap, by whomever, clears the nonce and names the launch's end; nothing else does."""
        final = head["state"] in FINAL
        if final and (head["nonce"] or head["by"] != -1):
            self.violated(f"head is {head['state']} and still has an owner")
        if (head["ends"].get(str(head["launch"])) == head["state"]) != final:
            self.violated(f"head is {head['state']}, the ends of its launches are {head['ends']}")

    def _check_relaunch(self, old: Document, new: Document) -> None:
        if old["state"] not in RESUMABLE:
            self.violated(f"launch {new['launch']} follows launch {old['launch']}, which was {old['state']}")
        if new["launch"] <= old["launch"] or not self._record_is_there(new):
            self.violated(f"launch {new['launch']} follows launch {old['launch']}, or has no record")
        if new["state"] != "submitted" or new["nonce"] or new["attempt"] != old["attempt"]:
            self.violated("a new launch begins with an owner, or with another attempt")
        if new["barren"]:
            self.violated("a new launch begins with a spent budget")

    def _check_step(self, old: Document, new: Document) -> None:
        if old["state"] in FINAL:
            self.violated(f"a final head ({old['state']}) was written again, as {new['state']}")
        if new["attempt"] not in (old["attempt"], old["attempt"] + 1):
            self.violated(f"attempt {new['attempt']} follows attempt {old['attempt']}")
        if new["state"] == "submitted" or (
            new["state"] == "gathering" and old["state"] == "running" and new["attempt"] == old["attempt"]
        ):
            self.violated(f"head went from {old['state']} to {new['state']}")
        same_owner = new["nonce"] == old["nonce"] and new["by"] == old["by"]
        if new["attempt"] == old["attempt"] and new["state"] not in FINAL and not same_owner:
            self.violated(f"attempt {new['attempt']} changed its owner")

    def _check_history(self, old: Document, new: Document) -> None:
        """What is past does not change: ends, attempts that have ended, checkpoints."""
        for launch, end in old["ends"].items():
            if new["ends"].get(launch) != end:
                self.violated(f"launch {launch} had ended as {end}, now {new['ends'].get(launch)}")
        for number, attempt in old["attempts"].items():
            now = new["attempts"].get(number)
            if now is None or (attempt["ended_at"] is not None and now != attempt):
                self.violated(f"attempt {number} had ended and was changed")
        if len({one["name"] for one in new["checkpoints"]}) < len(new["checkpoints"]):
            self.violated("head names one checkpoint twice")
        names = [one["name"] for one in old["checkpoints"]]
        fresh = [one for one in new["checkpoints"] if one["name"] not in names]
        if len(fresh) > 1 or (fresh and fresh[0] is not new["checkpoints"][-1]):
            self.violated(f"{len(fresh)} checkpoints came at once, or not as the newest")
        if fresh and fresh[0]["attempt"] != new["attempt"]:
            self.violated(f"attempt {new['attempt']} committed a checkpoint of attempt {fresh[0]['attempt']}")
        if len(new["checkpoints"]) < min(KEPT_MIN, len(old["checkpoints"]) + len(fresh)):
            self.violated(f"head keeps {len(new['checkpoints'])} checkpoints, it had {len(old['checkpoints'])}")
        if old["checkpoints"] and new["checkpoints"] and not self.world.chaos.damaged:
            before, now = old["checkpoints"][-1], new["checkpoints"][-1]
            if now["step"] < before["step"]:
                self.violated(f"the newest checkpoint went back from step {before['step']} to {now['step']}")
