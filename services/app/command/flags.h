// Command-line options for one command: `--name value`, `--name=value`, or `--switch`. An option of
// kind kMany takes all values up to the next option (`--rules a.yaml b.yaml`). All other arguments
// are positional. An unknown option is a usage error that suggests the closest known option.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall {

// Row in a command's option table. Both the parser and the help text use the table.
struct FlagSpec {
  enum class Kind { kSwitch, kOne, kMany };
  std::string_view name;  // without the leading dashes
  Kind kind = Kind::kOne;
  std::string_view value;  // placeholder in the help, e.g. FILE
  std::string_view help;   // a clause without a final period
  std::string_view default_value = {};
  std::string_view short_name = {};  // without the leading dash; "": no short name
};

class Flags {
 public:
  // Parses the arguments. Returns InvalidArgument for an unknown option, a missing value, or an
  // unexpected value.
  static StatusOr<Flags> Parse(const std::vector<FlagSpec>& specs,
                               const std::vector<std::string>& arguments);

  // Sets the value of an option that is absent from the command line.
  void SetDefault(std::string_view name, std::string_view value);

  bool Has(std::string_view name) const;
  // Returns the last value of an option, or nullopt.
  std::optional<std::string> One(std::string_view name) const;
  std::vector<std::string> Many(std::string_view name) const;
  const std::vector<std::string>& positional() const { return positional_; }

 private:
  // In command-line order. A switch has the value "true".
  std::vector<std::pair<std::string, std::string>> values_;
  std::vector<std::string> positional_;
};

// Joins several groups of options into one table.
std::vector<FlagSpec> JoinOptions(std::initializer_list<std::vector<FlagSpec>> groups);

// Returns an option in the form used on the command line: `--rules FILE…`.
std::string OptionText(const FlagSpec& spec);

// Wraps `text` to the terminal width. All lines except the first are indented to `column`.
std::string Wrapped(std::string_view text, size_t column);

// Returns the help text, with one entry per option, wrapped to the terminal width.
std::string FlagHelp(const std::vector<FlagSpec>& specs);

}  // namespace pitwall
