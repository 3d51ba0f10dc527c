"""A server with a wall clock of its own. libfaketime changes it, and not the monotonic clock."""

import os

from server import Server

NO_STEP = "+0d"


class ShiftedServer(Server):
    """A server whose wall clock has an offset, which `shift` changes while it runs."""

    @property
    def clock_path(self):
        return self.directory / "clock"

    def shift(self, offset):
        """Sets the offset of the wall clock from the real time."""
        beside = self.clock_path.with_suffix(".new")
        beside.write_text(offset + "\n")
        os.replace(beside, self.clock_path)

    def environment(self):
        return {
            **super().environment(),
            "LD_PRELOAD": os.environ["FAKETIME_LIBRARY"],
            "FAKETIME_TIMESTAMP_FILE": str(self.clock_path),
            # The file is read at each call, so that a step takes effect immediately.
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }

    def spawn(self):
        if not self.clock_path.exists():
            self.shift(NO_STEP)
        super().spawn()
