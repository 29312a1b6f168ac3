#!/usr/bin/env python3
"""Direction of dependencies. A module may include only lower folders, and only those declared in add_module.

The compiler enforces most of this rule (cmake/modules.cmake). This lint covers two more cases: a subfolder of a module is reachable through the
module's include root, and tests next to the code can see more than production code can.
"""
import os
import re

from repo import Finding, closure, in_any, includes, main, module_of

RULES_MAY = ("rules", "services/base", "services/model")
ROOTS = ("services/", "rules/", "tests/")


def check(repo):
    findings = []
    modules = repo.modules()
    known = set(repo.paths)
    for path in repo.cpp():
        for number, bracket, name in includes(repo.text(path) or ""):
            ours = name.startswith(ROOTS)
            if bracket == "<" and ours:
                findings.append(Finding(path, number, "%s: include headers of the repository with quotes, not in angle brackets" % name))
            if bracket == '"' and not ours and not re.match(r"pitwall/.*\.pb\.h$|.*\.inc$", name) \
                    and not re.match(r"(absl|g(test|mock|rpcpp)|re2|google|nlohmann|boost|benchmark|yaml-cpp|prometheus)/", name):
                findings.append(Finding(path, number, "%s: includes start at the root of the repository" % name))
            if not ours:
                continue
            for text in _wrong(repo, path, name, modules):
                findings.append(Finding(path, number, text))
            if name not in known and not _generated(repo, name):
                findings.append(Finding(path, number, "%s does not exist" % name))
    return findings


def _generated(repo, name):
    """Returns true if the build generates the header, that is, if the CMakeLists.txt in the same folder mentions it."""
    folder, _, base = name.rpartition("/")
    return repo.exists(folder + "/CMakeLists.txt") and base in (repo.text(folder + "/CMakeLists.txt") or "")


def _wrong(repo, path, name, modules):
    if path.startswith("rules/") and not in_any(name, RULES_MAY) and not (repo.is_test(path) and name.startswith("tests/")):
        yield "rules/ includes %s: it may use only %s" % (name, ", ".join(RULES_MAY))
    if in_any(name, ["services/app"]) and not in_any(path, ["services/app"]) and not path.startswith("tests/"):
        yield "%s: nothing includes services/app" % name
    if name.startswith("tests/") and not repo.is_test(path):
        yield "%s: production includes nothing of tests/" % name
    own, theirs = module_of(path, modules), module_of(name, modules)
    if own and theirs:
        allowed = closure(own.folder, modules)
        if repo.is_test(path):
            if path.endswith(".cc") and os.path.basename(path) not in own.lists["TESTS"]:
                return  # a separate test binary with its own list of libraries
            for dep in own.lists["TEST_DEPS"]:
                allowed |= closure(dep, modules)
        if theirs.folder not in allowed and not path.startswith("tests/"):
            yield "%s: module %s does not depend on %s (DEPS in its CMakeLists.txt)" % (name, own.folder, theirs.folder)


if __name__ == "__main__":
    main(check)
