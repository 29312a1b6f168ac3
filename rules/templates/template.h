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
//   html urlquery eq ne lt le gt ge and or not args $externalLabels (empty), $externalURL and
//   externalURL ("")
//   {{ range $i, $x := … }}…{{ else }}…{{ end }} with break and continue, over the result of a
//   query, a map or a number; {{ define "x" }}…{{ end }} {{ template "x" . }} {{ block "x" . }}…{{
//   end }} query first value label strvalue sortByLabel
//
// A label that is absent is "". Numbers print as Go prints them (1e+06). Unlike in Go, an integer
// may be compared with a float ({{ if gt $value 90 }}). The text of a query must be constant, since
// it is compiled with the rule and evaluated with it at the tick; its result is in the order of
// labels.
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

struct TemplateBody;  // the parsed form

// A query of a template, in its order.
struct TemplateQuery {
  std::string text;           // PromQL
  size_t begin = 0, end = 0;  // where its text is in the template: byte offsets
};
// $labels.name, and where.
struct LabelUse {
  std::string name;
  size_t begin = 0, end = 0;
};

// What is behind the queries of templates.
class TemplateQueries {
 public:
  virtual ~TemplateQueries() = default;
  // The result at the tick of the query with this id (see Template::WithQueries).
  virtual StatusOr<std::shared_ptr<const std::vector<QuerySample>>> Run(uint32_t id) = 0;
};

// Where a template is malformed.
struct ParseProblem {
  size_t at = 0;  // byte offset
  std::string cause;
};

struct TemplateInput {
  const Labels* labels = nullptr;  // of the element, before rule labels
  double value = 0;
  std::span<const std::pair<std::string, double>> params;
  int64_t step = kNoStep;              // $step is "" when there is none
  int64_t time_ns = 0;                 // now
  TemplateQueries* queries = nullptr;  // null: a query is a run-time error
};

// A parsed template. Immutable, cheap to copy, safe to share between threads. Output is bounded (64
// KiB), and so is the work that an expansion may take.
class Template {
 public:
  Template() = default;  // expands to ""
  // InvalidArgument "NAME:LINE:COL: cause" when `text` is no template.
  // `problem` (may be null) then says the same in parts.
  static StatusOr<Template> Parse(std::string_view name, std::string_view text,
                                  ParseProblem* problem = nullptr);

  // The same, with ids for its queries, one for each: what TemplateQueries::Run is asked for.
  // Before, a query's id is its index.
  Template WithQueries(std::vector<uint32_t> ids) const;

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
  // Labels read as $labels.x or $.Labels.x.
  const std::vector<LabelUse>& labels() const;
  const std::vector<TemplateQuery>& queries() const;

 private:
  std::shared_ptr<const TemplateBody> body_;
  std::vector<uint32_t> query_ids_;
};

}  // namespace pitwall::templates
