#!/usr/bin/env python3
"""Validates the OpenAPI file of the history against the OpenAPI 3.1 meta-schema, using the PyPI package openapi-spec-validator.

openapi_test.py FILE

The package is installed in a virtual environment in the cache. The test creates the environment if it is missing. Without a package index, the test
is skipped (exit code 77). services/history/api/openapi_test.cc checks the same file against the server's routes, parameters, and responses.
"""
import copy
import os
import shutil
import subprocess
import sys
import unittest
import venv

PACKAGE = "openapi-spec-validator==0.9.0"
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pitwall", PACKAGE.replace("==", "-"))
FILE = None


def python():
    """Returns the path of an interpreter that has the package, or None if the package cannot be installed."""
    path = os.path.join(CACHE, "bin", "python")
    if not os.path.exists(os.path.join(CACHE, "done")):
        shutil.rmtree(CACHE, ignore_errors=True)  # removes a partial installation
        venv.create(CACHE, with_pip=True)
        pip = [path, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE, "pyyaml"]
        if subprocess.run(pip, timeout=120).returncode != 0:
            return None
        open(os.path.join(CACHE, "done"), "w").close()
    return path


class OpenApi(unittest.TestCase):
    def setUp(self):
        import yaml
        from openapi_spec_validator import OpenAPIV31SpecValidator
        self.validator = OpenAPIV31SpecValidator
        with open(FILE) as text:
            self.spec = yaml.safe_load(text)

    def faults(self, spec):
        try:
            return [error.message for error in self.validator(spec).iter_errors()]
        except KeyError as missing:  # the validator's own traversal requires this key
            return [repr(missing)]

    def test_openapi_file_is_valid(self):
        self.assertTrue(self.spec["openapi"].startswith("3.1."))
        self.assertEqual(self.faults(self.spec), [])
        self.assertGreater(len(self.spec["paths"]), 20)

    def test_broken_openapi_file_is_rejected(self):
        def broken(change):
            spec = copy.deepcopy(self.spec)
            change(spec)
            return spec
        operation = self.spec["paths"]["/jobs"]["get"]["operationId"]
        for change in (lambda s: s["paths"]["/jobs"].update(get=3),
                       lambda s: s["paths"]["/jobs"]["get"]["parameters"][0].update({"in": "nowhere"}),
                       lambda s: s["paths"]["/job"]["get"].update(operationId=operation),
                       lambda s: s["paths"]["/jobs"]["get"]["parameters"][0]["schema"].update(type="text")):
            self.assertNotEqual(self.faults(broken(change)), [])


if __name__ == "__main__":
    FILE = os.path.abspath(sys.argv[1])
    if sys.prefix != CACHE:
        interpreter = python()
        if interpreter is None:
            print("NOTE: the OpenAPI file is not validated because %s cannot be installed" % PACKAGE)
            sys.exit(77)
        os.execv(interpreter, [interpreter] + sys.argv)
    del sys.argv[1]
    unittest.main(verbosity=2)
