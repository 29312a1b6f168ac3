// Templates of labels and annotations: the part of Go's text/template and of Prometheus' functions
// that alert rules use.
//
//   {{ $labels.gpu }}  {{ .Labels.gpu }}  {{ $value }}  {{ .Value }}  {{ $params.threshold }}  {{
//   $step }}
//   {{ $value | printf "%.2f" }}  {{ if gt $value 90.0 }}…{{ else if … }}…{{ else }}…{{ end }}  {{
//   with … }}…{{ end }}
//   {{ $x := humanize $value }}  {{- trimmed -}}  {{/* comment */}}
//   humanize humanize1024 humanizeDuration humanizePercentage humanizeTimestamp toUpper toLower
//   title reReplaceAll match stripPort stripDomain parseDuration now printf print println len index
//   html urlquery eq ne lt le gt ge and or not $externalLabels (empty), $externalURL and
//   externalURL ("")
//
// A label that is absent is "". Numbers print as Go prints them (1e+06). Unlike in Go, an integer
// may be compared with a float ({{ if gt $value 90 }}). What needs a query (query, first, range, …)
// is an error at Parse.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/model/labels.h"
#include "services/model/position.h"

namespace pitwall::alert {

struct TemplateBody;  // the parsed form

struct TemplateInput {
  const Labels* labels = nullptr;  // of the element, before rule labels
  double value = 0;
  std::span<const std::pair<std::string, double>> params;
  int64_t step = kNoStep;  // $step is "" when there is none
  int64_t time_ns = 0;     // now
};

// A parsed template. Immutable, cheap to copy, safe to share between threads. Output is bounded (64
// KiB).
class Template {
 public:
  Template() = default;  // expands to ""
  // InvalidArgument "NAME:LINE:COL: cause" when `text` is no template.
  static StatusOr<Template> Parse(std::string_view name, std::string_view text);

  // Never fails: a run-time error gives "<error expanding template: …>", as in Prometheus.
  std::string Expand(const TemplateInput& input) const;
  // The same, or the error.
  StatusOr<std::string> TryExpand(const TemplateInput& input) const;

  // Whether the text can change while the element's labels stay: it reads the value, a parameter,
  // the step or the time.
  bool varies() const;
  // Whether it is plain text.
  bool constant() const;
  // Names read as $params.x, for checking.
  const std::vector<std::string>& parameters() const;

 private:
  std::shared_ptr<const TemplateBody> body_;
};

}  // namespace pitwall::alert
