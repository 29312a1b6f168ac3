#!/usr/bin/env python3
"""unity.py MOST FILE…: groups a target's sources for joint compilation, at most MOST per group (cmake/unity.cmake).

Prints a number per file, in the given order: files with the same number share a compilation. Two files that define the same name, each in its own
unnamed namespace, never share a compilation. Relies on the format of .clang-format: the content of a namespace begins in column 0.
"""
import re
import sys

DEFINITIONS = [re.compile(pattern) for pattern in (
    r"(?:template <.*> )?(?:struct|class|enum class|enum|union) (\w+)\b(?!;)",
    r"(?:inline |static )*(?:constexpr|const|constinit|thread_local)\b[^=({]*?(\w+)(?:\[\w*\])? ?(?:=|\{|;|$)",
    r"(?!using |namespace |return )\w[^({=]*[ *&](\w+)\(",
)]
ALIAS = re.compile(r"(?:using|namespace) (\w+) = ")


def names_of(path):
    """Returns {name: file}. Aliases map to their definition instead, because duplicate aliases are harmless."""
    names = {}
    with open(path, encoding="utf-8") as source:
        for line in source:
            if alias := ALIAS.match(line):
                names[alias[1]] = line
            for definition in DEFINITIONS:
                if found := definition.match(line):
                    names[found[1]] = path
    return names


def group(most, paths):
    """Groups files by first fit, in the order in which the target lists them."""
    groups, numbers = [], []
    for path in paths:
        names = names_of(path)
        for number, (files, taken) in enumerate(groups):
            if files < most and all(taken.get(name, definition) == definition for name, definition in names.items()):
                groups[number] = (files + 1, taken | names)
                break
        else:
            number = len(groups)
            groups.append((1, names))
        numbers.append(number)
    return numbers


if __name__ == "__main__":
    print(";".join(map(str, group(int(sys.argv[1]), sys.argv[2:]))), end="")
