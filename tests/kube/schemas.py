"""JSON schemas of Kubernetes kinds for kubeconform, derived from an API server's OpenAPI document. The schemas are strict: an unknown field is an
error."""
import json
import os


def _strict(node):
    """Converts an OpenAPI schema to a JSON schema."""
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    if node.get("format") == "int-or-string" or node.get("x-kubernetes-int-or-string"):
        return {"oneOf": [{"type": "string"}, {"type": "integer"}]}
    if "$ref" in node and node["$ref"].endswith("util.intstr.IntOrString"):
        return {"oneOf": [{"type": "string"}, {"type": "integer"}]}
    out = {key: ({name: _strict(value) for name, value in part.items()} if key == "properties" else _strict(part))
           for key, part in node.items() if not key.startswith("x-kubernetes") and key not in ("description", "format", "default")}
    if "properties" in out and "additionalProperties" not in out and not node.get("x-kubernetes-preserve-unknown-fields"):
        out["additionalProperties"] = False
    return out


def _references(node, found):
    if isinstance(node, dict):
        reference = node.get("$ref")
        if isinstance(reference, str):
            found.add(reference.rsplit("/", 1)[1])
        for part in node.values():
            _references(part, found)
    elif isinstance(node, list):
        for part in node:
            _references(part, found)
    return found


def write_schemas(openapi, folder, kinds):
    """Writes FOLDER/KIND-GROUP-VERSION.json for each of `kinds` (apiVersion, kind). Raises KeyError if the server does not have a kind."""
    definitions = openapi["definitions"]
    names = {(("%s/%s" % (gvk["group"], gvk["version"])).lstrip("/"), gvk["kind"]): name
             for name, body in definitions.items() for gvk in body.get("x-kubernetes-group-version-kind", ())}
    for api_version, kind in kinds:
        name = names[(api_version, kind)]
        wanted, todo = {}, [name]
        while todo:
            each = todo.pop()
            if each in wanted:
                continue
            wanted[each] = _strict(definitions[each])
            todo += _references(wanted[each], set())
        group = api_version.rsplit("/", 1)[0].split(".")[0] if "/" in api_version else ""
        version = api_version.rsplit("/", 1)[-1]
        file = "-".join(part for part in (kind.lower(), group, version) if part) + ".json"
        with open(os.path.join(folder, file), "w", encoding="utf-8") as out:
            json.dump({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/" + name, "definitions": wanted}, out)
