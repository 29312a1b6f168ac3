#!/usr/bin/env python3
"""wheel.py BINARY --out DIR [--auditwheel PROGRAM]: builds a Python wheel with the client, the command `pitwall`, and the server, including the page.

The distribution is called pitwall-server, because the name `pitwall` on PyPI is taken; the import name is pitwall. It replaces the package in
clients/python, so install only one of the two. auditwheel (PyPI) and patchelf bundle the linked libraries with the binary.
"""
import argparse
import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

import bom

CLIENT = os.path.join(bom.REPO, "clients", "python", "src")
NAME = "pitwall_server"
LAUNCHER = '''"""The server of Pitwall, bundled in a wheel."""
import os
import sys

BINARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "pitwall")


def main():
    os.execv(BINARY, ["pitwall"] + sys.argv[1:])
'''


def contents(binary, work):
    """Yields (path in the wheel, bytes, executable flag)."""
    stripped = os.path.join(work, "pitwall")
    subprocess.run(["strip", "-o", stripped, binary], check=True)
    with open(stripped, "rb") as file:
        yield NAME + "/bin/pitwall", file.read(), True
    yield NAME + "/__init__.py", LAUNCHER.encode(), False
    for folder, _, names in sorted(os.walk(os.path.join(CLIENT, "pitwall"))):
        for name in sorted(names):
            if name.endswith(".py") or name == "py.typed":
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    yield os.path.relpath(path, CLIENT), file.read(), False
    info = "%s-%s.dist-info/" % (NAME, bom.version_of_pitwall())
    packages, page = bom.debian(binary), bom.bundled()
    yield info + "licenses/NOTICE", bom.notice(packages, page, True).encode(), False
    with open(os.path.join(bom.REPO, "LICENSE"), "rb") as file:
        yield info + "licenses/LICENSE", file.read(), False
    for package in sorted(packages):
        path = "/usr/share/doc/%s/copyright" % package
        if os.path.exists(path):
            with open(path, "rb") as file:
                yield info + "licenses/debian/" + package, file.read(), False
    yield info + "METADATA", ("Metadata-Version: 2.1\nName: pitwall-server\nVersion: %s\nSummary: Pitwall, client and server\n"
                              "License: Apache-2.0\nRequires-Python: >=3.8\n" % bom.version_of_pitwall()).encode(), False
    yield info + "WHEEL", b"Wheel-Version: 1.0\nGenerator: pitwall\nRoot-Is-Purelib: false\nTag: py3-none-linux_x86_64\n", False
    yield info + "entry_points.txt", ("[console_scripts]\npitwall = %s:main\n" % NAME).encode(), False


def write(path, files):
    record = []
    info = "%s-%s.dist-info/RECORD" % (NAME, bom.version_of_pitwall())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        def add(name, data, program):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if program else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)

        for name, data, program in files:
            add(name, data, program)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append("%s,sha256=%s,%d\n" % (name, digest, len(data)))
        add(info, ("".join(record) + info + ",,\n").encode(), False)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--out", required=True)
    parser.add_argument("--auditwheel", default="auditwheel")
    options = parser.parse_args()
    for tool in (options.auditwheel, "patchelf", "strip"):
        if not shutil.which(tool):
            sys.exit("wheel.py: %s is missing; install it (auditwheel by pip, the others from Debian)" % tool)
    work = tempfile.mkdtemp()
    try:
        raw = os.path.join(work, "%s-%s-py3-none-linux_x86_64.whl" % (NAME, bom.version_of_pitwall()))
        write(raw, contents(options.binary, work))
        subprocess.run([options.auditwheel, "repair", "--wheel-dir", options.out, raw], check=True)
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
