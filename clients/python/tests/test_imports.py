"""Tests that the modules of the package do not import each other in a cycle, and keep their state in objects. Imports inside functions count; those
under `if TYPE_CHECKING:` do not, because they do not run."""
import ast
import os
import shutil
import tempfile
import unittest

import support

PACKAGE = "pitwall"


def _runs(tree):
    """Yields the import statements of a module that run."""
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in (getattr(node.test, "id", None), getattr(node.test, "attr", None)):
            nodes += node.orelse
        else:
            nodes += ast.iter_child_nodes(node)


def _modules(folder):
    """Returns {module: (file, whether it is a package)}."""
    found = {}
    for place, _, names in os.walk(os.path.join(folder, PACKAGE)):
        for name in names:
            if name.endswith(".py"):
                path = os.path.join(place, name)
                parts = os.path.relpath(path, folder)[:-len(".py")].split(os.sep)
                is_package = parts[-1] == "__init__"
                found[".".join(parts[:-1] if is_package else parts)] = path, is_package
    return found


def imports(folder):
    """Returns {module: imported modules of the package}. A package is imported if a name of it is imported that is not a module."""
    modules = _modules(folder)
    found = {}
    for module, (path, is_package) in modules.items():
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        targets = set()
        for node in _runs(tree):
            if isinstance(node, ast.Import):
                targets.update(alias.name for alias in node.names)
                continue
            base = module.split(".")
            base = base[:len(base) - node.level + is_package] if node.level else []
            source = ".".join(base + ([node.module] if node.module else []))
            for alias in node.names:
                inner = source + "." + alias.name
                targets.add(inner if inner in modules else source)
        found[module] = targets & set(modules)
    return found


def cycle(graph):
    """Returns the nodes of a cycle, or []."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return []
        path.append(node)
        for target in sorted(graph[node]):
            found = visit(target)
            if found:
                return found
        path.pop()
        done.add(node)
        return []
    for node in sorted(graph):
        found = visit(node)
        if found:
            return found
    return []


def folders(graph):
    """Returns the imports between the packages below the top one, and the modules beside them."""
    found = {}
    for module, targets in graph.items():
        names = {".".join(target.split(".")[:2]) for target in targets}
        found.setdefault(".".join(module.split(".")[:2]), set()).update(names)
    return {name: targets - {name} for name, targets in found.items()}


class ImportsTest(unittest.TestCase):
    def test_modules_have_no_import_cycle(self):
        graph = imports(support.SOURCES)
        self.assertIn("pitwall.transport._sender", graph["pitwall._client"])
        self.assertEqual(cycle(graph), [])

    def test_packages_have_no_import_cycle(self):
        self.assertEqual(cycle(folders(imports(support.SOURCES))), [])

    def test_recording_and_transport_do_not_import_the_client(self):
        graph = folders(imports(support.SOURCES))
        for name in ("recording", "capture", "transport"):
            self.assertNotIn("pitwall._client", graph["pitwall." + name])


class StateTest(unittest.TestCase):
    def test_modules_do_not_rebind_their_globals(self):
        found = []
        for module, (path, _) in _modules(support.SOURCES).items():
            with open(path, encoding="utf-8") as file:
                found += ["%s:%d" % (module, node.lineno) for node in ast.walk(ast.parse(file.read())) if isinstance(node, ast.Global)]
        self.assertEqual(found, [])


class CycleTest(unittest.TestCase):
    def graph(self, **modules):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        os.makedirs(os.path.join(folder, PACKAGE, "inner"))
        for name, text in dict({"__init__": "", "inner/__init__": ""}, **modules).items():
            with open(os.path.join(folder, PACKAGE, name + ".py"), "w", encoding="utf-8") as file:
                file.write(text)
        return imports(folder)

    def test_import_inside_a_function_counts(self):
        graph = self.graph(a="def f():\n    from . import b\n", b="from .a import f\n")
        self.assertEqual(cycle(graph), ["pitwall.a", "pitwall.b", "pitwall.a"])

    def test_name_of_the_package_imports_the_package(self):
        graph = self.graph(**{"__init__": "from .inner.c import d\n", "inner/c": "from .. import e\n"})
        self.assertEqual(cycle(graph), ["pitwall", "pitwall.inner.c", "pitwall"])

    def test_absolute_import_counts(self):
        graph = self.graph(a="import pitwall.b\n", b="try:\n    from pitwall import a\nexcept ImportError:\n    pass\n")
        self.assertEqual(cycle(graph), ["pitwall.a", "pitwall.b", "pitwall.a"])

    def test_import_for_types_does_not_count(self):
        graph = self.graph(a="from . import b\n", b="import typing\nif typing.TYPE_CHECKING:\n    from . import a\nelse:\n    from . import inner\n")
        self.assertEqual((cycle(graph), graph["pitwall.b"]), ([], {"pitwall.inner"}))


if __name__ == "__main__":
    unittest.main()
