#!/usr/bin/env python3
"""The tables of routes and parameters in docs/api.md are those of services/history/api/openapi.yaml. `api_reference.py --update` writes them."""
import os
import re
import sys

from repo import Finding, Repo, main

SOURCE = "services/history/api/openapi.yaml"
PAGE = "docs/api.md"
BEGIN = "<!-- Begin of the tables that tests/lint/api_reference.py --update writes. -->\n"
END = "<!-- End of the tables. -->\n"


class Reference:
    """Tables of one OpenAPI file. `sections` are the headings of the page, to which the names of schemas link."""

    def __init__(self, document, sections):
        self.document = document
        self.sections = sections
        self.shared = self._shared_parameters()

    def tables(self):
        lines = ["| Route | Parameters | Response |", "|---|---|---|"]
        for path, methods in self.document["paths"].items():
            for method, operation in methods.items():
                lines.append("| %s |" % " | ".join(cell.replace("|", "\\|") for cell in self._row(method.upper(), path, operation)))
        lines += ["", "Parameters of several routes:", "", "| Parameter | Value |", "|---|---|"]
        for name, text in sorted(self.shared.items()):
            lines.append("| `%s` | %s |" % (name, text.replace("|", "\\|")))
        return "\n".join(lines) + "\n"

    def _row(self, method, path, operation):
        route = ["`%s %s`" % (method, path), _sentence(operation["summary"]) + (" Role `act`." if operation.get("x-role") == "act" else "")]
        if operation.get("description"):
            route.append(_sentence(operation["description"]))
        parameters = ["body: %s" % self._fields(content["schema"]) for content in operation.get("requestBody", {}).get("content", {}).values()]
        parameters += [self._parameter(parameter) for parameter in self._parameters(operation)]
        answer = operation["responses"]["200"]
        schema = answer["content"].get("application/json", {}).get("schema")
        response = [self._fields(schema)] if schema else []
        if answer["description"] != "OK":
            response.append(_sentence(answer["description"]))
        return "<br>".join(route), "<br>".join(parameters), "<br>".join(response)

    def _resolve(self, node):
        """Returns the target of a reference, and its name; or the node itself, and None."""
        if "$ref" not in node:
            return node, None
        at = self.document
        for part in node["$ref"][2:].split("/"):
            at = at[part]
        return at, node["$ref"].rsplit("/", 1)[1]

    def _parameters(self, operation):
        return [self._resolve(item)[0] for item in operation.get("parameters", [])]

    def _shared_parameters(self):
        """Returns the most frequent value of each parameter that several routes have, by name. Each route has its own size of a page."""
        uses = {}
        for methods in self.document["paths"].values():
            for operation in methods.values():
                for parameter in self._parameters(operation):
                    values = uses.setdefault(parameter["name"], {})
                    value = self._value(parameter)
                    values[value] = values.get(value, 0) + 1
        most = {name: max(values, key=values.get) for name, values in uses.items()}
        return {name: value for name, value in most.items() if uses[name][value] > 1 and name != "limit"}

    def _parameter(self, parameter):
        text = self._value(parameter)
        mark = "*" if parameter.get("required") else ""
        return "`%s`%s" % (parameter["name"], mark) + ("" if self.shared.get(parameter["name"]) == text else ": " + text)

    def _value(self, parameter):
        """Returns the description, choices, limits, and default of a parameter."""
        outer = parameter["schema"]
        schema = self._resolve(outer.get("items", outer))[0]
        parts = [_sentence(parameter["description"]).rstrip(".")]
        if "enum" in schema:
            parts.append(" | ".join("`%s`" % value for value in schema["enum"]))
        if "minimum" in schema:
            parts.append("{minimum} to {maximum}".format(**schema))
        if "default" in outer:
            parts.append("default `%s`" % outer["default"])
        if outer.get("type") == "array":
            parts.append("repeatable" if parameter.get("explode", True) else "separated by commas")
        return "; ".join(parts)

    def _fields(self, schema):
        """Returns the fields of a response, with those of a schema that has a section as a link to it."""
        schema, name = self._resolve(schema)
        if name in self.sections:
            return self._link(name)
        if "oneOf" in schema:
            return " or ".join(self._fields(one) for one in schema["oneOf"])
        properties = schema["properties"]
        fields = []
        for section in self.sections:
            part = self.document["components"]["schemas"].get(section, {}).get("properties")
            if part and part.items() <= properties.items():
                fields.append("the fields of %s" % self._link(section))
                properties = {key: value for key, value in properties.items() if key not in part}
        fields += [self._field(key, value) for key, value in properties.items()]
        return ", ".join(fields) + (". " + _sentence(schema["description"]) if schema.get("description") else "")

    def _field(self, key, schema):
        shape = self._shape(schema)
        notes = self._resolve(schema)[0].get("description", "") if "$ref" not in schema else ""
        return "`%s`" % key + (": " + shape if shape else "") + (" (%s)" % notes.rstrip(".") if notes else "")

    def _shape(self, schema):
        schema, name = self._resolve(schema)
        if name in self.sections:
            return self._link(name)
        if "enum" in schema:
            return " | ".join("`%s`" % value for value in schema["enum"])
        if "items" in schema:
            inner = self._shape(schema["items"])
            return "[%s]" % inner if inner else ""
        if name and schema.get("description") and "properties" in schema:
            return name  # the page or another page describes it
        if "properties" in schema:
            text = "{%s}" % ", ".join(self._field(key, value) for key, value in schema["properties"].items())
            return text + (" or `null`" if "null" in schema["type"] else "")
        return ""

    def _link(self, name):
        return "[%s](#%s)" % (name, name.lower())


def _sentence(text):
    text = " ".join(text.split())
    return text if text.endswith((".", "…")) else text + "."


def written(page, source):
    """Returns the page with the tables of the source, or None if the page has no place for them."""
    import yaml  # only this lint needs python3-yaml
    begin, end = page.find(BEGIN), page.find(END)
    if begin < 0 or end < begin:
        return None
    sections = re.findall(r"^### (\w+)$", page, re.M)
    tables = Reference(yaml.safe_load(source), sections).tables()
    return page[:begin] + BEGIN + tables + page[end:]


def check(repo):
    if not repo.exists(SOURCE) or not repo.exists(PAGE):
        return []
    page = repo.text(PAGE)
    wanted = written(page, repo.text(SOURCE))
    if wanted is None:
        return [Finding(PAGE, 1, "the markers of the generated tables are missing")]
    lines = zip(page.splitlines() + [""], wanted.splitlines() + [""])
    return [] if wanted == page else [Finding(PAGE, next((n for n, (a, b) in enumerate(lines, 1) if a != b), 1),
                                              "differs from %s: tests/lint/api_reference.py --update" % SOURCE)]


def update():
    repo = Repo()
    page = written(repo.text(PAGE), repo.text(SOURCE))
    if page is None:
        sys.exit("%s: the markers of the generated tables are missing" % PAGE)
    with open(os.path.join(repo.root, PAGE), "w", encoding="utf-8") as out:
        out.write(page)


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        update()
    else:
        main(check)
