// Command-line flags of one command: --name value, --name=value, --switch; a flag may take several
// values up to the next flag
// (`--rules a.yaml b.yaml`). Everything else is positional. Unknown flags are usage errors with the
// nearest known name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall {

struct FlagSpec {
  enum class Kind { kSwitch, kOne, kMany };
  std::string_view name;  // without dashes
  Kind kind = Kind::kOne;
  std::string_view value;  // placeholder for the help, e.g. FILE
  std::string_view help;
};

class Flags {
 public:
  // InvalidArgument: unknown flag, missing value.
  static StatusOr<Flags> Parse(const std::vector<FlagSpec>& specs,
                               const std::vector<std::string>& arguments);

  bool Has(std::string_view name) const;
  // The last value given.
  std::optional<std::string> One(std::string_view name) const;
  std::vector<std::string> Many(std::string_view name) const;
  const std::vector<std::string>& positional() const { return positional_; }

 private:
  std::vector<std::pair<std::string, std::string>> values_;  // in order; switches have "true"
  std::vector<std::string> positional_;
};

std::string FlagHelp(const std::vector<FlagSpec>& specs);

}  // namespace pitwall
