"""Measurements of the machine and of one process: CPU, disk writes, syncs; and tables of figures."""

import os
import pathlib
import platform
import statistics
import time

from deadline import wait_until

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
BUSY_SHARE = 0.9  # Share of busy CPU time from which a path counts as bound by the CPU.


def describe(directory):
    with open("/proc/meminfo") as text:
        memory_gib = int(text.readline().split()[1]) / (1 << 20)
    return (
        f"machine: {os.cpu_count()} cores, {memory_gib:.0f} GiB, {platform.system()} {platform.release()}, "
        f"{syncs_per_s(directory):,.0f} syncs/s (4 KiB append and fdatasync)"
    )


def syncs_per_s(directory, seconds=1.0):
    """Returns the syncs of a 4 KiB append per second: the bound of accepting with one email in flight."""
    path = pathlib.Path(directory) / "sync.probe"
    block, count = b"x" * 4096, 0
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    began = time.monotonic()
    try:
        while time.monotonic() - began < seconds:
            os.write(descriptor, block)
            os.fdatasync(descriptor)
            count += 1
        return count / (time.monotonic() - began)
    finally:
        os.close(descriptor)
        path.unlink()


class Watch:
    """CPU time and written bytes of one process, and the busy share of the machine, until `end()`."""

    def __init__(self, pid):
        self.pid = pid
        self.began = self._read()

    def _read(self):
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        io = dict(line.split(": ") for line in pathlib.Path(f"/proc/{self.pid}/io").read_text().splitlines())
        machine = [int(field) for field in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        return int(fields[11]) + int(fields[12]), int(io["write_bytes"]), sum(machine), machine[3] + machine[4]

    def end(self):
        cpu, written, total, idle = (now - before for now, before in zip(self._read(), self.began, strict=True))
        self.cpu_s = cpu / TICKS_PER_S
        self.written_bytes = written
        self.busy_share = 1 - idle / total if total else 0.0
        return self


def wait_until_idle(pid, interval_s=16.0, busy_max=0.02):
    """Waits until a process uses at most `busy_max` of one processor during an interval: longer than the pause of any worker
    that still has work."""

    def is_idle():
        watch = Watch(pid)
        time.sleep(interval_s)
        return watch.end().cpu_s <= busy_max * interval_s

    wait_until(is_idle, 600, "an idle process", pause_s=0)


def thread_cpu_s(pid, name):
    """Returns the CPU time of the threads of a process with this name, in seconds."""
    ticks = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() == name[:15]:
            fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / TICKS_PER_S


def disk_bytes(path):
    """Returns the bytes that a file or directory uses on disk, without holes."""
    path = pathlib.Path(path)
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    return sum(one.stat().st_blocks * 512 for one in files)


def spread(values, digits=0):
    """Returns `median [min..max]`, the value itself if there is one, and `-` without values."""
    values = [value for value in values if value is not None]
    if not values:
        return "-"
    text = f"{statistics.median(values):,.{digits}f}"
    return text if len(values) == 1 else f"{text} [{min(values):,.{digits}f}..{max(values):,.{digits}f}]"


def ratio(ours, theirs):
    if not ours or not theirs:
        return "-"
    return f"{statistics.median(ours) / statistics.median(theirs):.2f}"


def table(header, rows):
    """Prints rows of text in aligned columns."""
    rows = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    for number, row in enumerate(rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip(), flush=True)
        if number == 0:
            print("  ".join("-" * width for width in widths), flush=True)
