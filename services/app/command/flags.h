// Options of one command on the command line: `--name value`, `--name=value`, or `--switch`. An
// option of kind kMany takes all values up to the next option (`--rules a.yaml b.yaml`). Everything
// else is an argument. An unknown option is a usage error that names the nearest known option.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall {

// Row of a command's table of options. The parser and the help both read it.
struct FlagSpec {
  enum class Kind { kSwitch, kOne, kMany };
  std::string_view name;  // without dashes
  Kind kind = Kind::kOne;
  std::string_view value;  // placeholder for the help, e.g. FILE
  std::string_view help;   // a clause without a period
  std::string_view default_value = {};
  std::string_view short_name = {};  // without the dash; "": the option has none
};

class Flags {
 public:
  // Returns InvalidArgument for an unknown option and for a missing or superfluous value.
  static StatusOr<Flags> Parse(const std::vector<FlagSpec>& specs,
                               const std::vector<std::string>& arguments);

  // Adds a value to an option that the command line does not have.
  void SetDefault(std::string_view name, std::string_view value);

  bool Has(std::string_view name) const;
  // Returns the last value of an option.
  std::optional<std::string> One(std::string_view name) const;
  std::vector<std::string> Many(std::string_view name) const;
  const std::vector<std::string>& positional() const { return positional_; }

 private:
  std::vector<std::pair<std::string, std::string>> values_;  // in order; switches have "true"
  std::vector<std::string> positional_;
};

// Joins groups of options into one table.
std::vector<FlagSpec> JoinOptions(std::initializer_list<std::vector<FlagSpec>> groups);

// Returns an option as a user writes it: `--rules FILE…`.
std::string OptionText(const FlagSpec& spec);

// Returns `text` in lines that fit a terminal. Each line but the first starts at `column`.
std::string Wrapped(std::string_view text, size_t column);

// Returns one entry per option, wrapped to the width of a terminal.
std::string FlagHelp(const std::vector<FlagSpec>& specs);

}  // namespace pitwall
