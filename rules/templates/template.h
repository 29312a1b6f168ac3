// Templates for labels and annotations: the subset of Go's text/template and of Prometheus'
// functions that alert rules use.
//
//   {{ $labels.gpu }}  {{ .Labels.gpu }}  {{ $value }}  {{ .Value }}  {{ $params.threshold }}
//   {{ $step }}
//   {{ $value | printf "%.2f" }}  {{ if gt $value 90.0 }}…{{ else if … }}…{{ else }}…{{ end }}
//   {{ with … }}…{{ end }}
//   {{ $x := humanize $value }}  {{- trimmed -}}  {{/* comment */}}
//   humanize humanize1024 humanizeDuration humanizePercentage humanizeTimestamp toUpper toLower
//   title reReplaceAll match stripPort stripDomain parseDuration now printf print println len index
//   html urlquery eq ne lt le gt ge and or not args
//   $externalLabels (empty), $externalURL and externalURL ("")
//   {{ range $i, $x := … }}…{{ else }}…{{ end }} with break and continue, over a query result, a
//   map, or a number
//   {{ define "x" }}…{{ end }}  {{ template "x" . }}  {{ block "x" . }}…{{ end }}
//   query first value label strvalue sortByLabel
//
// A missing label is "". Numbers are printed as in Go (1e+06). Unlike in Go, an integer may be
// compared with a float ({{ if gt $value 90 }}). The text of a query must be constant, because the
// query is compiled with the rule and evaluated at the rule's tick. Its result is in label order.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/templates/value.h"
#include "services/base/status.h"
#include "services/model/labels.h"
#include "services/model/position.h"

namespace pitwall::templates {

struct TemplateBody;  // parsed form of the template

// Query in a template.
struct TemplateQuery {
  std::string text;           // PromQL
  size_t begin = 0, end = 0;  // byte offsets of the query's text in the template
};
// Reference to a label as $labels.name, with its position.
struct LabelUse {
  std::string name;
  size_t begin = 0, end = 0;
};

// Source of query results for templates.
class TemplateQueries {
 public:
  virtual ~TemplateQueries() = default;
  // Returns the query's result at the tick. See Template::WithQueries for the ID.
  virtual StatusOr<std::shared_ptr<const std::vector<QuerySample>>> Run(uint32_t id) = 0;
};

// Position and cause of a template syntax error.
struct ParseProblem {
  size_t at = 0;  // byte offset
  std::string cause;
};

struct TemplateInput {
  const Labels* labels = nullptr;  // labels of the element, without the rule's own labels
  double value = 0;
  std::span<const std::pair<std::string, double>> params;
  int64_t step = kNoStep;              // $step is "" if `step` is kNoStep
  int64_t time_ns = 0;                 // time that the `now` function returns
  TemplateQueries* queries = nullptr;  // if null, executing a query is a run-time error
};

// Parsed template. Immutable, cheap to copy, and thread-safe. Each expansion is limited in output
// (64 KiB) and work.
class Template {
 public:
  Template() = default;  // template that expands to ""
  // Parses a template. Returns InvalidArgument "NAME:LINE:COL: cause" if `text` is invalid; in that
  // case, `problem` (may be null) receives the position and the cause.
  static StatusOr<Template> Parse(std::string_view name, std::string_view text,
                                  ParseProblem* problem = nullptr);

  // Returns a copy with these query IDs. They are passed to TemplateQueries::Run. By default, a
  // query's ID is its index.
  Template WithQueries(std::vector<uint32_t> ids) const;

  // Expands the template. Never fails: a run-time error expands to "<error expanding template: …>",
  // as in Prometheus.
  std::string Expand(const TemplateInput& input) const;
  // Expands the template like Expand, but returns errors.
  StatusOr<std::string> TryExpand(const TemplateInput& input) const;

  // Returns true if the output can change while the element's labels stay the same, because the
  // template reads the value, a parameter, the step, or the time.
  bool varies() const;
  // Returns true if the template has no actions, only plain text.
  bool constant() const;
  // Returns the parameter names used as $params.x, for checks.
  const std::vector<std::string>& parameters() const;
  // Returns the label names used as $labels.x or $.Labels.x.
  const std::vector<LabelUse>& labels() const;
  const std::vector<TemplateQuery>& queries() const;

 private:
  std::shared_ptr<const TemplateBody> body_;
  std::vector<uint32_t> query_ids_;
};

}  // namespace pitwall::templates
