// Names of columns in an input.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace pitwall::imports {

// Column names of one input. Not thread-safe.
class ColumnNames {
 public:
  // Keeps at most `limit` names from JSON. The caller limits the number of names in headers.
  explicit ColumnNames(size_t limit) : limit_(limit) {}

  // Adds the names of a CSV header.
  void AddHeader(const std::vector<std::string>& header) {
    std::unordered_set<std::string_view> seen;
    for (const std::string& column : header) {
      if (!seen.insert(column).second) twice_.insert(column);
    }
    named_.insert(header.begin(), header.end());
    names_.insert(header.begin(), header.end());
  }
  // Adds a JSON key that has a cell.
  void Add(const std::string& column) {
    if (names_.size() < limit_) names_.insert(column);
  }
  // Adds a JSON key whose value is null.
  void AddEmpty(std::string column) {
    if (named_.size() < limit_) named_.insert(std::move(column));
  }

  // Returns the column names in the input.
  const std::set<std::string, std::less<>>& names() const { return names_; }
  // Returns true if the header contains the column twice, which makes its cells ambiguous.
  bool Twice(std::string_view column) const { return twice_.contains(column); }
  // Returns true if the input contains the column, even if it has no cells: in a CSV header, or as
  // a JSON key with a null value.
  bool Names(std::string_view column) const { return named_.contains(column); }

 private:
  const size_t limit_;
  std::set<std::string, std::less<>> twice_;
  // Columns in a CSV header, and JSON keys whose value is null.
  std::set<std::string, std::less<>> named_;
  std::set<std::string, std::less<>> names_;
};

}  // namespace pitwall::imports
