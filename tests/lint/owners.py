#!/usr/bin/env python3
"""Every header is in an add_module HDRS list, so that it is compiled alone. Every source is built by some CMakeLists.txt.

Headers included only by tests do not have to be listed. pitwall_registered() (cmake/modules.cmake) takes the sources of a folder from the rows of an
.inc file, and all tests of that folder.
"""
import os
import re

from repo import Finding, main, module_of


def check(repo):
    findings = []
    modules = repo.modules()
    listed = {}
    for module in modules.values():
        for keyword in ("SRCS", "HDRS", "TESTS"):
            for name in module.lists[keyword]:
                if "$" in name:
                    continue
                path = os.path.normpath(os.path.join(os.path.dirname(module.path), name))
                listed[path] = keyword
                if not repo.exists(path):
                    findings.append(Finding(module.path, module.line, "%s of %s: %s does not exist"
                                            % (keyword, module.folder, name)))
    for path in _registered(repo):
        listed.setdefault(path, "SRCS")
    for path in repo.cpp():
        in_module = module_of(path, modules)
        if path.endswith(".h"):
            for_tests = repo.is_test(path) and not path.startswith("tests/")
            if listed.get(path) != "HDRS" and not for_tests and (in_module or not path.startswith("tests/")):
                findings.append(Finding(path, 1, "not in the HDRS list of any add_module"))
        elif path not in listed and not _named_nearby(repo, path):
            findings.append(Finding(path, 1, "not built by any CMakeLists.txt"))
    return findings


def _registered(repo):
    """Yields the sources of the rows that pitwall_registered() reads, and the tests beside them."""
    for path in repo.paths:
        if os.path.basename(path) != "CMakeLists.txt":
            continue
        for name, macro, suffix in re.findall(r"^\s*pitwall_registered\(\w+ (\S+) (\w+) (\S+)\)", repo.text(path) or "", re.M):
            rows = os.path.join(os.path.dirname(path), name)
            folder = os.path.dirname(rows)
            for row in re.findall(r"^%s\((\w+)," % macro, (repo.text(rows) if repo.exists(rows) else "") or "", re.M):
                yield "%s/%s%s" % (folder, row, suffix)
            yield from (p for p in repo.paths if os.path.dirname(p) == folder and p.endswith("_test.cc"))


def _named_nearby(repo, path):
    """Returns true if the CMakeLists.txt in the file's folder or a parent folder mentions the file or its name without the extension."""
    folder, name = os.path.split(path)
    stem = os.path.splitext(name)[0]
    words = {name, stem, re.sub(r"_(test|fuzz|bench)$", "", stem)}
    while folder:
        lists = folder + "/CMakeLists.txt"
        if repo.exists(lists):
            text = re.sub(r"#[^\n]*", "", repo.text(lists) or "")
            for word in re.split(r"[\s()\"/]+", text):
                # log_kind_${kind}.cc matches every log_kind_*.cc, but a word that consists only of a variable matches nothing.
                fixed = re.split(r"\$\{\w+\}", word)
                if word in words or (len(fixed) > 1 and len("".join(fixed)) > 4
                                     and re.fullmatch(".+".join(map(re.escape, fixed)), name)):
                    return True
        folder = os.path.dirname(folder)
    return False


if __name__ == "__main__":
    main(check)
