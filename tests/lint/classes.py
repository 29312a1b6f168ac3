#!/usr/bin/env python3
"""Maximum size of C++ classes: 20 methods and 20 data members, unless classes_allowed.txt contains an entry with a reason.

Methods are the functions that the class declares, including overloads. Constructors, destructors, operators, and
defaulted or deleted functions do not count. Members are its non-static data members. Tests do not count.
  --list   prints every class that exceeds half of a limit
"""
import re
import sys
from typing import NamedTuple

from repo import Finding, Repo, main, read_allowed, strip_cpp

METHODS, MEMBERS = 20, 20
ALLOWED = "tests/lint/classes_allowed.txt"

_HEAD = re.compile(r"\b(?:class|struct)\s+(?:ABSL_\w+(?:\([^()]*\))?\s+|PITWALL_\w+(?:\([^()]*\))?\s+|alignas\([^()]*\)\s*)*"
                   r"([A-Za-z_][\w:]*)\s*(?:<[^;{}]*>)?\s*(?:final\b\s*)?(?::[^;{}()]*)?\{")
_MACRO = re.compile(r"\b(?:ABSL|PITWALL)_[A-Z_]+(?:\s*\((?:[^()]|\([^()]*\))*\))?|\[\[[^\]]*\]\]|\balignas\s*\([^()]*\)")
_ACCESS = re.compile(r"^\s*(?:(?:public|private|protected)\s*:\s*)+")
_NOT_COUNTED = re.compile(r"^(?:using|typedef|friend|static_assert|enum|union|namespace)\b")
_FUNCTION = re.compile(r"(operator\s*(?:[^\s\w(]+|\(\s*\)|\w[\w:\s]*)|~?[A-Za-z_]\w*)\s*\(")


class Size(NamedTuple):
    """Class name, line of its head, number of methods, and number of members."""

    name: str
    line: int
    methods: int
    members: int


def _closing(text, at):
    """Returns the index just past the brace that matches the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0:
            return i + 1
    return len(text)


def _statements(body):
    """Yields the declarations of a class body, each without the text in its braces."""
    start, i, round_, parts = 0, 0, 0, []
    while i < len(body):
        c = body[i]
        round_ += (c == "(") - (c == ")")
        if c == "{":
            end = _closing(body, i)
            parts.append(body[start:i])
            rest = body[end:].lstrip()
            # In `int a_{1};` and `struct A { ... } a_;`, the declaration continues after the brace. A function body ends its declaration.
            if round_ == 0 and not rest.startswith((";", ",")) and not re.match(r"\s*\w+\s*;", rest):
                yield "".join(parts) + "{}"
                parts = []
            else:
                parts.append("{}")
            start = i = end
            continue
        if c == ";" and round_ == 0:
            parts.append(body[start:i])
            yield "".join(parts)
            parts, start = [], i + 1
        i += 1


def _without_templates(text):
    """Returns the text without template arguments, because parentheses in them denote function types."""
    while True:
        bare = re.sub(r"(?<=\w)\s*<[^<>;{}]*>", "", text)
        if bare == text:
            return text
        text = bare


def _kind(statement, name):
    """Returns "method", "member", or None for a declaration that does not count."""
    text = _ACCESS.sub("", _MACRO.sub(" ", statement)).strip()
    text = re.sub(r"^template\s*<(?:[^<>]|<[^<>]*>)*>\s*", "", text)
    text = _without_templates(_ACCESS.sub("", text).strip())
    nested = re.match(r"^(?:class|struct)\s+[\w:]+[^{}]*(\{\}\s*(\w+)?)?$", text)
    if not text or text == "{}" or _NOT_COUNTED.match(text) or (nested and not nested.group(2) and (nested.group(1) or " " not in text[7:].strip())):
        return None
    head = re.split(r"(?<![=!<>])=(?!=)", text, maxsplit=1)[0] if not re.search(r"\boperator\b", text) else text
    function = _FUNCTION.search(head)
    if function:
        called = function.group(1)
        if called.startswith(("operator", "~")) or called == name or re.search(r"=\s*(?:default|delete)\s*$", text):
            return None
        return "method"
    return None if re.match(r"^(?:inline\s+)?(?:static|constexpr)\b", text) else "member"


def sizes(text):
    """Yields the sizes of the classes that a source file defines, including nested classes."""
    bare = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", "", strip_cpp(text), flags=re.M)
    for head in _HEAD.finditer(bare):
        if re.search(r"\benum\s*$", bare[:head.start()]):
            continue
        name = head.group(1).split("::")[-1]
        kinds = [_kind(s, name) for s in _statements(bare[head.end():_closing(bare, head.end() - 1) - 1])]
        yield Size(head.group(1), bare.count("\n", 0, head.start()) + 1, kinds.count("method"), kinds.count("member"))


def all_sizes(repo):
    """Returns {(path, class name): Size} of all classes except test classes."""
    return {(path, size.name): size for path in repo.cpp("services", "rules", "clients") if not repo.is_test(path)
            for size in sizes(repo.text(path) or "")}


def limits(repo):
    """Returns ({(path, class name): (methods, members, line)}, findings). An entry is "<path> <class> <methods> <members>"."""
    entries, findings = read_allowed(ALLOWED, repo.text(ALLOWED) if repo.exists(ALLOWED) else "")
    allowed = {}
    for entry, line in entries.items():
        words = entry.split()
        if len(words) != 4 or not (words[2].isdigit() and words[3].isdigit()):
            findings.append(Finding(ALLOWED, line, "malformed entry (%s): write <path> <class> <methods> <members>  # <why>" % entry))
            continue
        allowed[words[0], words[1]] = (int(words[2]), int(words[3]), line)
    return allowed, findings


def check(repo):
    allowed, findings = limits(repo)
    found = all_sizes(repo)
    for (path, name), size in found.items():
        methods, members, _ = allowed.get((path, name), (METHODS, MEMBERS, 0))
        if size.methods > max(methods, METHODS) or size.members > max(members, MEMBERS):
            findings.append(Finding(path, size.line, "%s has %d methods and %d members, %d and %d are allowed: divide the class"
                                    % (name, size.methods, size.members, max(methods, METHODS), max(members, MEMBERS))))
    for (path, name), (methods, members, line) in allowed.items():
        size = found.get((path, name), Size(name, 0, 0, 0))
        if size.methods <= METHODS and size.members <= MEMBERS:
            findings.append(Finding(ALLOWED, line, "%s %s is within the limits: remove the entry" % (path, name)))
        elif size.methods < methods or size.members < members:
            findings.append(Finding(ALLOWED, line, "%s %s has %d methods and %d members: lower its numbers" % (path, name, size.methods, size.members)))
    return findings


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        for (at, _), one in sorted(all_sizes(Repo()).items(), key=lambda item: (-item[1].methods, -item[1].members)):
            if one.methods > METHODS / 2 or one.members > MEMBERS / 2:
                print("%s:%d %s %d methods %d members" % (at, one.line, one.name, one.methods, one.members))
        sys.exit(0)
    main(check)
