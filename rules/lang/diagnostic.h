// Error or warning at a place of a rule file. Stages collect all of them, not only the first.
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
  int line = 0;    // from 1; 0: the file as a whole
  int column = 0;  // from 1, in characters
  int length = 1;  // characters to underline
  std::string message;
  std::string source_line;   // the line's text, for the caret
  bool unsupported = false;  // nothing wrong with the text: this engine cannot do it

  // "file:line:col: error: message".
  std::string Header() const;
  // Header, then the line and a caret under the place:
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
  // An error that is ours: PromQL has it, this engine does not.
  void Unsupported(const Source& source, Span span, std::string_view message) {
    Add(Severity::kError, source, span, message);
    list_.back().unsupported = true;
  }
  void Add(Diagnostic diagnostic) { list_.push_back(std::move(diagnostic)); }
  void Error(const Source& source, Span span, std::string_view message) {
    Add(Severity::kError, source, span, message);
  }
  // Of the file as a whole.
  void Error(std::string_view file, std::string_view message);
  void Append(Diagnostics other);

  const std::vector<Diagnostic>& list() const { return list_; }
  bool HasErrors() const;
  size_t ErrorCount() const;
  // There are errors, and each is by Unsupported.
  bool OnlyUnsupported() const;
  // By file, place and severity; of equal ones one stays.
  void Sort();
  // All of them, each with its caret.
  std::string ToString() const;
  // OK without errors, else InvalidArgument with the errors' headers (the first few, then a count).
  Status ToStatus() const;

 private:
  std::vector<Diagnostic> list_;
};

}  // namespace pitwall::lang
