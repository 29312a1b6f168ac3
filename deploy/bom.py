#!/usr/bin/env python3
"""bom.py BINARY --out DIR [--wheel]: writes NOTICE and sbom.spdx.json for the dependencies of the binary.

Linked libraries come from Debian packages, according to dpkg. The web page's packages are part of the binary and come from the page's lock file. With
--wheel, the linked libraries are bundled too.
"""
import argparse
import hashlib
import json
import os
import re
import subprocess
import sys

REPO = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOCK = os.path.join(REPO, "services", "web", "package-lock.json")
PAGE = os.path.join(REPO, "services", "web", "package.json")


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def linked(binary):
    """Returns the resolved paths of a program's shared libraries."""
    paths = set()
    for line in output("ldd", binary).splitlines():
        match = re.search(r"=> (/\S+)", line)
        if match:
            paths.add(match.group(1))
    return sorted(paths)


def owners(paths):
    """Returns the Debian packages that contain the files. dpkg may list a file with or without /usr."""
    names = {path: {os.path.realpath(path), re.sub(r"^/usr", "", os.path.realpath(path)), path} for path in paths}
    found = subprocess.run(["dpkg-query", "--search", *sorted(set().union(*names.values()))], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    package = {file: owner.split(",")[0] for owner, file in (line.split(": ", 1) for line in found.stdout.splitlines())}
    unknown = [path for path in paths if not names[path] & set(package)]
    if unknown:
        raise SystemExit("bom.py: no Debian package has %s; install its library from Debian" % ", ".join(unknown))
    return {package[name] for path in paths for name in names[path] if name in package}


# Header-only packages with code that is compiled into the binary.
HEADERS = ("libboost1.81-dev", "nlohmann-json3-dev")


def debian(binary):
    """Returns {name: (version, source, licenses according to the copyright file)}."""
    packages = {}
    names = owners(linked(binary)) | set(HEADERS)
    for line in output("dpkg-query", "--show", "--showformat=${Package}|${Version}|${source:Package}\n", *sorted(names)).splitlines():
        name, version, source = line.split("|")
        licences = []
        try:
            with open("/usr/share/doc/%s/copyright" % name, encoding="utf-8", errors="replace") as file:
                licences = sorted(set(re.findall(r"^License: *(\S.*)$", file.read(), re.M)))
        except OSError:
            pass
        packages[name] = (version, source, licences)
    return packages


def bundled():
    """Returns {name: (version, license)} of the packages that the page build bundles into the binary."""
    with open(LOCK, encoding="utf-8") as file:
        lock = json.load(file)["packages"]
    with open(PAGE, encoding="utf-8") as file:
        waiting = list(json.load(file).get("dependencies", {}))
    found = {}
    while waiting:
        name = waiting.pop()
        entry = lock.get("node_modules/" + name)
        if name in found or entry is None:
            continue
        found[name] = (entry["version"], entry.get("license", "NOASSERTION"))
        waiting += list(entry.get("dependencies", {}))
    return found


def version_of_pitwall():
    with open(os.path.join(REPO, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"^project\(pitwall VERSION ([\d.]+)", file.read(), re.M).group(1)


def identifier(text):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", text)


def spdx(binary, packages, page):
    with open(binary, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    version = version_of_pitwall()
    rows = [{"SPDXID": identifier("pitwall"), "name": "pitwall", "versionInfo": version, "downloadLocation": "NOASSERTION", "licenseConcluded": "Apache-2.0",
             "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION", "filesAnalyzed": False, "checksums": [{"algorithm": "SHA256", "checksumValue": digest}]}]
    links = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": identifier("pitwall")}]

    def add(kind, name, version, locator, comment, relation, licence="NOASSERTION"):
        rows.append({"SPDXID": identifier("%s-%s" % (kind, name)), "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
                     "licenseConcluded": "NOASSERTION", "licenseDeclared": licence, "copyrightText": "NOASSERTION", "filesAnalyzed": False, "comment": comment,
                     "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}]})
        links.append({"spdxElementId": identifier("pitwall"), "relationshipType": relation, "relatedSpdxElement": identifier("%s-%s" % (kind, name))})

    for name, (number, source, licences) in sorted(packages.items()):
        add("deb", name, number, "pkg:deb/debian/%s@%s" % (name, number), "source %s; licences by its copyright file: %s" % (source, ", ".join(licences) or "see there"),
            "DYNAMIC_LINK")
    for name, (number, licence) in sorted(page.items()):
        add("npm", name, number, "pkg:npm/%s@%s" % (name.replace("@", "%40"), number), "bundled in the web page", "CONTAINS", licence)
    stamp = os.environ.get("SOURCE_DATE_EPOCH")
    created = output("date", "-u", "-d", "@" + stamp if stamp else "@%d" % os.path.getmtime(binary), "+%Y-%m-%dT%H:%M:%SZ").strip()
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "pitwall-" + version,
            "documentNamespace": "urn:pitwall:sbom:%s:%s" % (version, digest), "creationInfo": {"created": created, "creators": ["Tool: pitwall-bom.py"]},
            "packages": rows, "relationships": links}


def notice(packages, page, wheel):
    lines = ["Pitwall %s" % version_of_pitwall(), "Licence: Apache-2.0", "", "In the binary, as part of the web page:"]
    lines += ["  %s %s (%s)" % (name, *page[name]) for name in sorted(page)]
    lines += ["", "Carried beside the binary:" if wheel else "Used by the binary, or in it (headers), from packages of Debian:"]
    for name, (number, _, licences) in sorted(packages.items()):
        lines.append("  %s %s (%s)" % (name, number, ", ".join(licences) or "see /usr/share/doc/%s/copyright" % name))
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--out", required=True)
    parser.add_argument("--wheel", action="store_true")
    options = parser.parse_args()
    packages, page = debian(options.binary), bundled()
    if not packages or not page:
        sys.exit("bom.py: no linked or bundled packages found (%s)" % options.binary)
    os.makedirs(options.out, exist_ok=True)
    for name, text in (("NOTICE", notice(packages, page, options.wheel)), ("sbom.spdx.json", json.dumps(spdx(options.binary, packages, page), indent=1) + "\n")):
        with open(os.path.join(options.out, name), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
