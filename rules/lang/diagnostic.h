// Errors and warnings with positions in rule files. Each stage collects all diagnostics, not only
// the first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rules/lang/source.h"
#include "services/base/status.h"

namespace pitwall::lang {

enum class Severity { kError, kWarning, kInfo };

struct Diagnostic {
  Severity severity = Severity::kError;
  std::string file;
  int line = 0;    // starts at 1; 0 for the whole file
  int column = 0;  // starts at 1, in characters
  int length = 1;  // number of underlined characters
  std::string message;
  std::string source_line;   // text of the line, shown above the caret
  bool unsupported = false;  // about valid PromQL that this engine does not support

  // Returns "file:line:col: error: message".
  std::string Header() const;
  // Returns the header, then the source line with a caret under the position:
  //   pack.yaml:7:11: error: unknown function "rat" (did you mean "rate"?)
  //       expr: rat(x[5m])
  //             ^~~
  std::string ToString() const;
};

class Diagnostics {
 public:
  void Add(Severity severity, const Source& source, Span span, std::string_view message);
  void Add(Severity severity, const yaml::FileTextPtr& file, Position position,
           std::string_view message);
  // Adds an error about valid PromQL that this engine does not support.
  void Unsupported(const Source& source, Span span, std::string_view message) {
    Add(Severity::kError, source, span, message);
    list_.back().unsupported = true;
  }
  void Add(Diagnostic diagnostic) { list_.push_back(std::move(diagnostic)); }
  void Error(const Source& source, Span span, std::string_view message) {
    Add(Severity::kError, source, span, message);
  }
  // Adds an error about the whole file.
  void Error(std::string_view file, std::string_view message);
  void Append(Diagnostics other);

  const std::vector<Diagnostic>& list() const { return list_; }
  bool HasErrors() const;
  size_t ErrorCount() const;
  // Returns true if there are errors and all of them were added by Unsupported.
  bool OnlyUnsupported() const;
  // Sorts by file, position, and severity, and removes duplicates.
  void Sort();
  // Returns all diagnostics, each with its caret.
  std::string ToString() const;
  // Returns OK if there are no errors, or InvalidArgument with the first few error headers and the
  // number of errors.
  Status ToStatus() const;

 private:
  std::vector<Diagnostic> list_;
};

}  // namespace pitwall::lang
