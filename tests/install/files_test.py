#!/usr/bin/env python3
"""Tests the installation files in deploy/ with the binary: units, configurations, compose, NOTICE, and the bill of materials.

files_test.py BINARY
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEPLOY = os.path.join(REPO, "deploy")
BINARY = None


def run(*command):
    """Returns (exit code, stdout and stderr)."""
    done = subprocess.run(list(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=90)
    return done.returncode, done.stdout


def read(*path):
    with open(os.path.join(DEPLOY, *path), encoding="utf-8") as file:
        return file.read()


class Files(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="pitwall-install-")

    def tearDown(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def test_binary_accepts_unit_commands(self):
        for unit, service in (("pitwall", "standalone"), ("pitwall-collector", "collector")):
            text = read("debian", unit + ".service")
            start = re.search(r"^ExecStart=/usr/bin/pitwall (.*)$", text, re.M).group(1).split()
            self.assertEqual(start[0], service)
            path = start[start.index("--config") + 1]
            self.assertIn(path, read("debian", "conffiles").split())
            code, printed = run(BINARY, *[a.replace("/etc/pitwall", os.path.join(DEPLOY, "debian")) for a in start], "--print-config")
            self.assertEqual(code, 0, printed)
            self.assertIn("/run/pitwall/collector.sock", printed)
            state = re.search(r"^StateDirectory=(\S+)$", text, re.M).group(1)
            self.assertRegex(printed, r"(?m)^data_dir: [\"']?/var/lib/%s[\"']?$" % state)

    def test_systemd_accepts_the_units(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is missing")
        for unit in ("pitwall.service", "pitwall-collector.service"):
            path = os.path.join(self.work, unit)  # systemd-analyze reports missing programs that the unit uses
            with open(path, "w", encoding="utf-8") as file:
                file.write(read("debian", unit).replace("/usr/bin/pitwall", BINARY))
        code, printed = run("systemd-analyze", "verify", "--man=no", *[os.path.join(self.work, u) for u in ("pitwall.service", "pitwall-collector.service")])
        self.assertEqual(code, 0, printed)
        self.assertNotIn("pitwall", printed)

    def test_package_scripts_are_valid_shell(self):
        for script in ("postinst", "prerm", "postrm"):
            code, printed = run("sh", "-n", os.path.join(DEPLOY, "debian", script))
            self.assertEqual(code, 0, printed)

    def test_example_workflow_checks_and_tests_rules(self):
        examples = os.path.join(REPO, "docs", "examples")
        with open(os.path.join(examples, "check-rules.yaml"), encoding="utf-8") as file:
            commands = re.findall(r"^ +run: (pitwall .*)$", file.read(), re.M)
        self.assertEqual(len(commands), 3)
        shutil.copytree(os.path.join(examples, "rules"), os.path.join(self.work, "rules"))
        os.mkdir(os.path.join(self.work, "bin"))
        os.symlink(BINARY, os.path.join(self.work, "bin", "pitwall"))

        def codes():
            return [run("env", "-C", self.work, "PATH=%s:%s" % (os.path.join(self.work, "bin"), os.environ["PATH"]), "bash", "-ec", command)
                    for command in commands]

        self.assertEqual([code for code, _ in codes()], [0, 0, 0], codes())
        path = os.path.join(self.work, "rules", "loss.yaml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("> 10", "> 11"))  # a rule that the tests do not expect
        self.assertEqual([code for code, _ in codes()], [0, 1, 0])
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("> 10", "> ("))
        self.assertNotEqual(codes()[0][0], 0)

    def test_binary_accepts_compose_commands(self):
        commands = re.findall(r"^  (\w+):\n    <<: \*pitwall\n    command: \[(.*)\]$", read("compose.yaml"), re.M)
        self.assertEqual([name for name, _ in commands], ["processor", "notifier", "insights", "collector"])
        for name, command in commands:
            arguments = command.split(", ")
            self.assertEqual(arguments[0], name)
            code, printed = run(BINARY, *arguments, "--print-config")
            self.assertEqual(code, 0, printed)

    def test_promtool_accepts_compose_configuration(self):
        folder = os.path.join(self.work, "prometheus")
        os.mkdir(folder)
        shutil.copy(os.path.join(REPO, "helm", "pitwall", "files", "alerts.yaml"), os.path.join(folder, "pitwall.yaml"))
        path = os.path.join(folder, "prometheus.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(read("compose", "prometheus.yaml").replace("/etc/prometheus", folder))
        code, printed = run("promtool", "check", "config", path)
        self.assertEqual(code, 0, printed)
        self.assertRegex(printed, r"\d\d rules found")

    def test_files_mounted_by_compose_exist(self):
        mounts = re.findall(r'(?:- |\[|, )"?(\.\.?/[^:"]+):', read("compose.yaml"))
        self.assertGreaterEqual(len(mounts), 6)
        for mount in mounts:
            self.assertTrue(os.path.exists(os.path.join(DEPLOY, mount)), mount)

    def test_notice_and_bill_of_materials_are_current(self):
        code, printed = run(sys.executable, os.path.join(DEPLOY, "bom.py"), BINARY, "--out", self.work)
        self.assertEqual(code, 0, printed)
        with open(os.path.join(self.work, "sbom.spdx.json"), encoding="utf-8") as file:
            bill = json.load(file)
        packages = {p["name"]: p for p in bill["packages"]}
        with open(os.path.join(REPO, "services", "web", "package.json"), encoding="utf-8") as file:
            page = json.load(file)["dependencies"]
        for name in ["pitwall", "librdkafka1", "libssl3", "libboost1.81-dev", *page]:
            self.assertIn(name, packages)
        libraries = re.findall(r"=> (/\S+)", run("ldd", BINARY)[1])
        self.assertGreater(len(libraries), len([p for p in packages if p.startswith("lib")]) // 2)
        ids = [p["SPDXID"] for p in bill["packages"]]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual({link["relatedSpdxElement"] for link in bill["relationships"]}, set(ids))
        for package in bill["packages"]:
            self.assertRegex(package["SPDXID"], r"^SPDXRef-[A-Za-z0-9.-]+$")
            self.assertTrue(package["versionInfo"])
        with open(os.path.join(self.work, "NOTICE"), encoding="utf-8") as file:
            notice = file.read()
        for name in packages:
            self.assertIn(name if name != "pitwall" else "Pitwall", notice)


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1], verbosity=2)
