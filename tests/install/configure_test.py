#!/usr/bin/env python3
"""Tests configuration and installation on a machine with missing dependencies. Each step must fail and print the command that fixes the problem.

configure_test.py CMAKE
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INSTALL = os.path.join(REPO, "deploy", "install-deps.sh")
TOOLCHAIN = os.path.join(REPO, "services", "web", "toolchain.sh")
CMAKE = None


class Scratch(unittest.TestCase):
    """Base class that creates an empty home and a build directory for each test."""

    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="pitwall-configure-")
        self.addCleanup(shutil.rmtree, self.work)
        self.home, self.build = os.path.join(self.work, "home"), os.path.join(self.work, "build")
        os.mkdir(self.home)
        self.bare = dict(os.environ, HOME=self.home, XDG_CACHE_HOME=os.path.join(self.home, ".cache"))

    def run_with(self, environment, *command):
        """Returns (exit code, output)."""
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240)
        return done.returncode, done.stdout

    def configure(self, environment, *options):
        return self.run_with(environment, CMAKE, "-S", REPO, "-B", self.build, "-G", "Ninja", "-DPITWALL_TESTS=OFF", "-DPITWALL_BENCH=OFF", *options)


class Configure(Scratch):
    def test_configuration_without_toolchain_fails_and_prints_command(self):
        status, output = self.configure(self.bare)
        self.assertNotEqual(status, 0)
        command = re.search(r"is not installed; run\s+(\S+/deploy/install-deps\.sh) (\w+)\n", output)
        self.assertIsNotNone(command, output)
        self.assertIn("-DPITWALL_PAGE=OFF", output)
        # The dry run shows that the printed command installs the missing dependencies.
        status, output = self.run_with(self.bare, command.group(1), "--check", command.group(2))
        self.assertNotEqual(status, 0)
        self.assertIn("the toolchain of the web page (Node and its packages) is missing", output)

    def test_configuration_succeeds_after_toolchain_is_installed(self):
        self.assertNotEqual(self.configure(self.bare)[0], 0)
        status, output = self.configure(os.environ)
        self.assertEqual(status, 0, output)
        # After the toolchain is removed again, a stale result in the build directory must not hide its absence.
        self.assertNotEqual(self.configure(self.bare)[0], 0)

    def test_page_off_does_not_require_toolchain(self):
        status, output = self.configure(self.bare, "-DPITWALL_PAGE=OFF")
        self.assertEqual(status, 0, output)

    def test_sanitizer_build_does_not_require_toolchain(self):
        status, output = self.configure(self.bare, "-DPITWALL_ADAPTERS=OFF")
        self.assertEqual(status, 0, output)

    def test_missing_module_folder_is_an_error(self):
        """Configures a copy of the repository (made of symbolic links) without one of its services."""
        copy = os.path.join(self.work, "copy")
        os.makedirs(os.path.join(copy, "services"))
        for folder, without in ("", ("services", "build", ".git")), ("services", ("executor",)):
            for name in set(os.listdir(os.path.join(REPO, folder))) - set(without):
                os.symlink(os.path.join(REPO, folder, name), os.path.join(copy, folder, name))
        status, output = self.run_with(os.environ, CMAKE, "-S", copy, "-B", self.build, "-G", "Ninja", "-DPITWALL_TESTS=OFF", "-DPITWALL_BENCH=OFF")
        self.assertNotEqual(status, 0)
        self.assertRegex(output, r"add_subdirectory given source\s+\"services/executor\"")


    def test_package_without_shlibdeps_fails_and_prints_command(self):
        check = os.path.join(REPO, "cmake", "package_check.cmake")
        self.assertEqual(self.run_with(os.environ, CMAKE, "-P", check)[0], 0)
        status, output = self.run_with(dict(os.environ, PATH=self.home), CMAKE, "-P", check)
        self.assertNotEqual(status, 0)
        self.assertRegex(output, r"dpkg-shlibdeps is not installed(.|\n)*run\s+deploy/install-deps\.sh build")
        with open(os.path.join(REPO, "cmake", "packaging.cmake"), encoding="utf-8") as file:
            self.assertIn("set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/package_check.cmake)\n", file.read())


class Install(Scratch):
    def stub(self, name, text):
        folder = os.path.join(self.work, "bin")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n%s\n" % text)
        os.chmod(path, 0o755)
        self.bare["PATH"] = "%s:%s" % (folder, os.environ["PATH"])

    def test_failed_package_installation_is_reported(self):
        self.stub("dpkg-query", "exit 1")  # no package is installed
        self.stub("apt-get", 'case "$*" in update*) exit 0 ;; *) echo "E: no space left" >&2; exit 100 ;; esac')
        self.stub("sudo", 'exec "$@"')
        status, output = self.run_with(self.bare, INSTALL, "kafka", "tests")
        self.assertNotEqual(status, 0)
        self.assertIn("packages: apt-get install failed (exit status 100)", output)
        self.assertNotIn("install-deps: done", output)

    def test_failed_toolchain_installation_is_reported(self):
        self.stub("python3", 'case "$*" in *"pip install"*) exit 1 ;; *) exit 0 ;; esac')
        self.stub("dpkg-query", "echo installed")
        status, output = self.run_with(self.bare, INSTALL, "build")
        self.assertNotEqual(status, 0)
        self.assertIn("page: could not install the toolchain", output)
        self.assertNotIn("install-deps: done", output)

    def test_toolchain_is_expected_only_while_its_installation_runs(self):
        self.assertNotEqual(self.run_with(self.bare, TOOLCHAIN, "expected")[0], 0)
        self.stub("python3", 'case "$*" in *"pip install"*) "%s" expected && echo expected while installing; exit 1 ;; *) exit 0 ;; esac' % TOOLCHAIN)
        status, output = self.run_with(self.bare, TOOLCHAIN, "install")
        self.assertNotEqual(status, 0)
        self.assertIn("expected while installing", output)
        self.assertNotEqual(self.run_with(self.bare, TOOLCHAIN, "expected")[0], 0)
        status, output = self.run_with(self.bare, TOOLCHAIN, "path")
        self.assertNotEqual(status, 0)
        self.assertIn("run deploy/install-deps.sh build", output)


if __name__ == "__main__":
    CMAKE = shutil.which(sys.argv[1])
    unittest.main(argv=sys.argv[:1], verbosity=2)
