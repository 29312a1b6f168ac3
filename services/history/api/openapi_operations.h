// Operations of openapi.yaml: the parameters and the access that each route of the API has.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/base/system/access.h"
#include "services/history/api/parameters.h"

namespace pitwall::history {

// Method of a path.
struct Operation {
  std::string method;  // GET, POST, or DELETE
  std::string path;    // without the prefix of the API
  Role role = Role::kView;
  bool open = false;  // requires no token
  std::vector<ParameterRule> parameters;
};

// Reads an OpenAPI file. `x-role` is the role of an operation (default: view, which only GET
// may have), and an empty `security` list marks an open one. A parameter of type array is
// repeatable unless `explode` is false. Returns InvalidArgument with the position of anything that
// the server does not support.
StatusOr<std::vector<Operation>> ReadOperations(std::string_view text);

// Returns the operations of the embedded file, which is read once. Thread-safe.
const std::vector<Operation>& Operations();

// Returns the operation, or nullptr if the list does not have it.
const Operation* FindOperation(std::span<const Operation> operations, std::string_view method,
                               std::string_view path);

// Method and path of a route that has a handler.
using RouteName = std::pair<std::string_view, std::string_view>;

// Returns an error that names the routes without an operation and the operations without a route.
Status MatchRoutes(std::span<const Operation> operations, std::span<const RouteName> routes);

}  // namespace pitwall::history
