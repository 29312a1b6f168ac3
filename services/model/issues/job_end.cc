#include "services/model/issues/job_end.h"

#include "services/base/text/strings.h"

namespace pitwall {
namespace {

constexpr size_t kMaxStoppedBy = 200;  // the name is inserted into a message

}  // namespace

std::string StoppedByOf(const JobEvent& event) {
  for (const Label& label : event.labels) {
    if (label.name == kStoppedBy) return label.value.substr(0, kMaxStoppedBy);
  }
  return "";
}

std::string JobEndText(EndDetail detail, std::string_view summary) {
  const std::string_view name = EndDetailName(detail);
  if (summary.empty()) return std::string(name);
  // The detail is already part of "stopped by …".
  if (name.empty() || StartsWith(summary, name)) return std::string(summary);
  return Cat(name, " (", summary, ")");
}

}  // namespace pitwall
