#!/usr/bin/env python3
"""layering.py INCLUDE_ROOTS COMPILER: proves that add_module makes an upward include fail to compile.

INCLUDE_ROOTS is a file that the build writes: "<module folder>|<include directories, ;-separated>" for each compiled
module, as the compiler gets them. Two proofs: no module sees a root of a module outside its DEPS; and for some modules
the compiler itself is asked, with a control that must pass.
"""
import os
import subprocess
import sys
import tempfile

from repo import Finding, Repo, closure

# Each asked of the compiler: a module, something above it that exists in the build too. The first pair whose
# modules are both there is enough of each line.
UPWARD = [("services/base", "services/model"), ("services/model", "services/io"),
          ("rules/lang", "services/io"), ("services/codec", "services/io"),
          ("services/engine", "services/processor")]


def read_roots(path):
    roots = {}
    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            folder, _, directories = line.partition("|")
            # A compiler's own directories are left out: named with -I they would come too early.
            roots[folder] = [d for d in dict.fromkeys(directories.split(";")) if d and not d.startswith("/usr/include")]
    return roots


def seen_modules(directories):
    """The module folders that these include directories lead to: each root of ours holds one link."""
    seen = set()
    for root in directories:
        for top in ("services", "rules", "tests"):
            for folder, folders, _ in os.walk(os.path.join(root, top)):
                for name in folders:
                    if os.path.islink(os.path.join(folder, name)):
                        seen.add(os.path.relpath(os.path.join(folder, name), root))
    return seen


def compiles(compiler, directories, header):
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "include.cc")
        with open(source, "w", encoding="utf-8") as file:
            file.write('#include "%s"\n' % header)
        done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-w"] + ["-I" + d for d in directories] + [source],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
        return done.returncode == 0, done.stdout


def first_header(module):
    return "%s/%s" % (module.folder, sorted(module.lists["HDRS"])[0])


def check(repo, roots, compiler):
    findings = []
    modules = repo.modules()
    for folder, directories in sorted(roots.items()):
        if folder not in modules:
            continue
        module = modules[folder]
        for stranger in sorted(seen_modules(directories) - closure(folder, modules)):
            findings.append(Finding(module.path, module.line, "%s sees %s, which is not below it" % (folder, stranger)))
        if folder not in seen_modules(directories):
            findings.append(Finding(module.path, module.line, "%s has no include root of its own" % folder))
    asked = 0
    for low, high in UPWARD:
        if low not in roots or high not in modules or not modules[high].lists["HDRS"]:
            continue
        asked += 1
        module, own, upward = modules[low], first_header(modules[low]), first_header(modules[high])
        passed, output = compiles(compiler, roots[low], own)
        if not passed:
            findings.append(Finding(module.path, module.line, "the control failed: %s does not compile: %s"
                                    % (own, output[:500])))
        passed, output = compiles(compiler, roots[low], upward)
        if passed:
            findings.append(Finding(module.path, module.line, "%s can include %s, which is above it" % (low, upward)))
        elif upward not in output or "No such file" not in output and "not found" not in output:
            findings.append(Finding(module.path, module.line, "%s fails for another reason: %s" % (upward, output[:500])))
    if not asked:
        findings.append(Finding("tests/lint/layering.py", 1, "none of the pairs in UPWARD exists any more"))
    return findings


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[0])
    found = check(Repo(), read_roots(sys.argv[1]), sys.argv[2])
    for finding in found:
        print(finding)
    print("layering: %s" % ("%d findings" % len(found) if found else "clean"))
    sys.exit(1 if found else 0)
