// Report on a job: description, machine usage, issues with evidence, and actions. The report of a
// running job covers the data so far.
#pragma once

#include <string>

#include "services/base/status.h"
#include "services/history/history.h"
#include "services/history/report/document.h"
#include "services/history/views/rule_definition.h"

namespace pitwall::history {

struct ReportRequest {
  const History* history = nullptr;
  JobLifePtr job;
  RuleDefinitions rules;  // loaded rules; empty if unknown
  std::string version;
  std::string link;  // URL of the job page
};

// Creates the report. A section that exceeds the limits is replaced with a note. Returns any error
// from the history.
StatusOr<Document> MakeReport(const ReportRequest& request);

}  // namespace pitwall::history
