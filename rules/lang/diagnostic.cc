#include "rules/lang/diagnostic.h"

#include <algorithm>
#include <tuple>

#include "services/base/text/strings.h"

namespace pitwall::lang {
namespace {

std::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kInfo:
      return "info";
  }
  return "";
}

}  // namespace

std::string Diagnostic::Header() const {
  if (line == 0) return Cat(file, ": ", SeverityName(severity), ": ", message);
  return Cat(file, ":", line, ":", column, ": ", SeverityName(severity), ": ", message);
}

std::string Diagnostic::ToString() const {
  std::string out = Header();
  // Invalid UTF-8 is escaped, because it could control the terminal.
  const bool text = std::none_of(source_line.begin(), source_line.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7f;
  });
  if (line == 0 || source_line.empty() || !text) return out;
  out += "\n    ";
  out += source_line;
  out += "\n    ";
  // Tabs are kept so the caret aligns at every tab width.
  int character = 1;
  for (size_t i = 0; i < source_line.size() && character < column; ++i) {
    if ((static_cast<unsigned char>(source_line[i]) & 0xc0) == 0x80) continue;
    out += source_line[i] == '\t' ? '\t' : ' ';
    ++character;
  }
  out += '^';
  if (length > 1) out.append(static_cast<size_t>(length - 1), '~');
  return out;
}

void Diagnostics::Add(Severity severity, const Source& source, Span span,
                      std::string_view message) {
  Diagnostic diagnostic;
  diagnostic.severity = severity;
  diagnostic.message = message;
  if (source.file() != nullptr) {
    const Position at = source.Locate(span.begin);
    diagnostic.file = source.file()->name();
    diagnostic.line = at.line;
    diagnostic.column = at.column;
    diagnostic.length = source.CaretLength(span);
    diagnostic.source_line = source.file()->Line(at.line);
  }
  list_.push_back(std::move(diagnostic));
}

void Diagnostics::Add(Severity severity, const yaml::FileTextPtr& file, Position position,
                      std::string_view message) {
  Diagnostic diagnostic;
  diagnostic.severity = severity;
  diagnostic.message = message;
  diagnostic.file = file->name();
  diagnostic.line = position.line;
  diagnostic.column = position.column;
  diagnostic.source_line = file->Line(position.line);
  list_.push_back(std::move(diagnostic));
}

void Diagnostics::Error(std::string_view file, std::string_view message) {
  Diagnostic diagnostic;
  diagnostic.file = file;
  diagnostic.message = message;
  list_.push_back(std::move(diagnostic));
}

void Diagnostics::Append(Diagnostics other) {
  for (Diagnostic& diagnostic : other.list_) list_.push_back(std::move(diagnostic));
}

bool Diagnostics::HasErrors() const { return ErrorCount() > 0; }

size_t Diagnostics::ErrorCount() const {
  return static_cast<size_t>(std::count_if(
      list_.begin(), list_.end(),
      [](const Diagnostic& diagnostic) { return diagnostic.severity == Severity::kError; }));
}

bool Diagnostics::OnlyUnsupported() const {
  return HasErrors() && std::none_of(list_.begin(), list_.end(), [](const Diagnostic& d) {
           return d.severity == Severity::kError && !d.unsupported;
         });
}

void Diagnostics::Sort() {
  const auto key = [](const Diagnostic& d) {
    return std::tie(d.file, d.line, d.column, d.severity, d.message);
  };
  std::stable_sort(list_.begin(), list_.end(),
                   [&](const Diagnostic& a, const Diagnostic& b) { return key(a) < key(b); });
  list_.erase(
      std::unique(list_.begin(), list_.end(),
                  [&](const Diagnostic& a, const Diagnostic& b) { return key(a) == key(b); }),
      list_.end());
}

std::string Diagnostics::ToString() const {
  std::string out;
  for (const Diagnostic& diagnostic : list_) CatTo(out, diagnostic.ToString(), "\n");
  return out;
}

Status Diagnostics::ToStatus() const {
  constexpr size_t kShown = 10;
  const size_t errors = ErrorCount();
  if (errors == 0) return OkStatus();
  std::vector<std::string> lines;
  for (const Diagnostic& diagnostic : list_) {
    if (diagnostic.severity != Severity::kError) continue;
    if (lines.size() == kShown) {
      lines.push_back(Cat("and ", errors - kShown, " more"));
      break;
    }
    lines.push_back(diagnostic.Header());
  }
  return InvalidArgument(Join(lines, "\n"));
}

}  // namespace pitwall::lang
