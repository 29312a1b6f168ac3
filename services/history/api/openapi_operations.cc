#include "services/history/api/openapi_operations.h"

#include <algorithm>
#include <array>

#include "services/base/check.h"
#include "services/base/text/strings.h"
#include "services/base/yaml/yaml.h"
#include "services/history/api/openapi_text.h"

namespace pitwall::history {
namespace {

// Keys of methods in the file, and their names in requests.
constexpr std::array<RouteName, 3> kMethods = {
    {{"get", "GET"}, {"post", "POST"}, {"delete", "DELETE"}}};

bool IsTrue(const yaml::Node* node) { return node != nullptr && node->scalar() == "true"; }

// Follows `$ref`, or returns the node itself.
StatusOr<yaml::Node> Resolve(const yaml::Node& document, const yaml::Node& node) {
  const yaml::Node* reference = node.Find("$ref");
  if (reference == nullptr) return node;
  const std::string_view target = reference->scalar();
  const yaml::Node* at = StartsWith(target, "#/") ? &document : nullptr;
  for (const std::string_view part : Split(target.substr(std::min<size_t>(2, target.size())), '/'))
    at = at == nullptr ? nullptr : at->Find(part);
  if (at == nullptr) return reference->Error(Cat("$ref: not found (", Quote(target), ")"));
  return *at;
}

StatusOr<ParameterRule> ReadParameter(const yaml::Node& node) {
  const yaml::Node* name = node.Find("name");
  const yaml::Node* in = node.Find("in");
  const yaml::Node* schema = node.Find("schema");
  const yaml::Node* type = schema == nullptr ? nullptr : schema->Find("type");
  if (name == nullptr || in == nullptr || type == nullptr)
    return node.Error("a parameter must have a name, in, and a schema with a type");
  if (in->scalar() != "query")
    return in->Error(Cat("in: must be query (got ", Quote(in->scalar()), ")"));
  const yaml::Node* explode = node.Find("explode");
  ParameterRule rule;
  rule.name = name->scalar();
  rule.required = IsTrue(node.Find("required"));
  rule.repeatable = type->scalar() == "array" && (explode == nullptr || IsTrue(explode));
  return rule;
}

Status ReadAccess(const yaml::Node& node, Operation* operation) {
  const yaml::Node* security = node.Find("security");
  if (security != nullptr) {
    if (!security->IsSequence() || !security->items().empty())
      return security->Error("security: must be an empty list; use x-role for a role");
    operation->open = true;
    operation->role = Role::kNone;
  }
  const yaml::Node* role = node.Find("x-role");
  if (role == nullptr) return OkStatus();
  if (role->scalar() != "act" || operation->open)
    return role->Error(
        Cat("x-role: must be act, and not on an open operation (got ", Quote(role->scalar()), ")"));
  operation->role = Role::kAct;
  return OkStatus();
}

StatusOr<Operation> ReadOperation(const yaml::Node& document, std::string_view path,
                                  const yaml::Node::Entry& entry) {
  const auto* const method =
      std::find_if(kMethods.begin(), kMethods.end(),
                   [&](const RouteName& known) { return known.first == entry.key; });
  if (method == kMethods.end())
    return entry.value.Error(
        Cat(path, ": the method must be get, post, or delete (got ", Quote(entry.key), ")"));
  Operation operation;
  operation.method = method->second;
  operation.path = path;
  RETURN_IF_ERROR(ReadAccess(entry.value, &operation));
  if (operation.method != "GET" && operation.role != Role::kAct && !operation.open)
    return entry.value.Error(Cat(path, ": ", entry.key, " must have x-role: act"));
  if (const yaml::Node* parameters = entry.value.Find("parameters")) {
    for (const yaml::Node& item : parameters->items()) {
      ASSIGN_OR_RETURN(const yaml::Node parameter, Resolve(document, item));
      ASSIGN_OR_RETURN(ParameterRule rule, ReadParameter(parameter));
      operation.parameters.push_back(std::move(rule));
    }
  }
  return operation;
}

std::vector<Operation> EmbeddedOperations() {
  StatusOr<std::vector<Operation>> operations = ReadOperations(kOpenApiText);
  PITWALL_CHECK_OK(operations.status());
  return *std::move(operations);
}

}  // namespace

StatusOr<std::vector<Operation>> ReadOperations(std::string_view text) {
  ASSIGN_OR_RETURN(const yaml::Node document, yaml::ParseYaml("openapi.yaml", text));
  const yaml::Node* paths = document.Find("paths");
  if (paths == nullptr || !paths->IsMap()) return document.Error("paths: must be a map");
  std::vector<Operation> operations;
  for (const yaml::Node::Entry& path : paths->entries()) {
    for (const yaml::Node::Entry& method : path.value.entries()) {
      ASSIGN_OR_RETURN(Operation operation, ReadOperation(document, path.key, method));
      operations.push_back(std::move(operation));
    }
  }
  return operations;
}

const std::vector<Operation>& Operations() {
  static const auto* const operations = new std::vector<Operation>(EmbeddedOperations());
  return *operations;
}

const Operation* FindOperation(std::span<const Operation> operations, std::string_view method,
                               std::string_view path) {
  for (const Operation& operation : operations) {
    if (operation.method == method && operation.path == path) return &operation;
  }
  return nullptr;
}

Status MatchRoutes(std::span<const Operation> operations, std::span<const RouteName> routes) {
  std::vector<std::string> faults;
  for (const auto& [method, path] : routes) {
    if (FindOperation(operations, method, path) == nullptr)
      faults.push_back(Cat(method, " ", path, " has a handler but no operation"));
  }
  for (const Operation& operation : operations) {
    const RouteName name = {operation.method, operation.path};
    const auto handlers = std::count(routes.begin(), routes.end(), name);
    if (handlers != 1)
      faults.push_back(Cat(operation.method, " ", operation.path, " has ", handlers, " handlers"));
  }
  if (faults.empty()) return OkStatus();
  return Internal(Cat("openapi.yaml: ", Join(faults, "; "), "; change routes.inc"));
}

}  // namespace pitwall::history
