"""Separate file systems under a data directory that are small enough to fill. They are tmpfs mounts that only root can create."""
import os
import shutil
import subprocess

BLOCK = 1 << 20


def can_mount(folder):
    """Returns true if this process may mount. Some containers deny it, even to root."""
    probe = os.path.join(folder, "mount-probe")
    os.makedirs(probe, exist_ok=True)
    try:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "life-probe", probe], stderr=subprocess.DEVNULL)
    except FileNotFoundError:
        return False
    if done.returncode == 0:
        subprocess.run(["umount", probe], check=True)
    os.rmdir(probe)
    return done.returncode == 0


class Volume:
    """A tmpfs at `path` with the previous content of that path."""

    def __init__(self, path, megabytes):
        self.path = path
        self.filler = os.path.join(path, ".filler")
        aside = path + ".aside"
        had = os.path.isdir(path)
        if had:
            os.rename(path, aside)
        os.makedirs(path)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dm,mode=0755" % megabytes, "pitwall-life", path], check=True)
        if had:
            for name in os.listdir(aside):
                shutil.move(os.path.join(aside, name), os.path.join(path, name))
            os.rmdir(aside)

    def fill(self):
        """Fills the volume until not even a single byte fits."""
        with open(self.filler, "ab", buffering=0) as out:
            block = BLOCK
            while block:
                try:
                    out.write(b"\0" * block)
                except OSError:
                    block //= 2

    def free(self):
        if os.path.exists(self.filler):
            os.unlink(self.filler)

    def unmount(self):
        if subprocess.run(["umount", self.path], stderr=subprocess.DEVNULL).returncode != 0:
            subprocess.run(["umount", "-l", self.path], stderr=subprocess.DEVNULL)


def keep_and_unmount(volumes, data, aside):
    """If `aside` is set, copies `data` there to preserve the artifacts of a failure. Unmounts from the innermost volume outward."""
    for volume in volumes:
        volume.free()
    if aside:
        shutil.copytree(data, aside, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.sock"))
    for volume in reversed(volumes):
        volume.unmount()
