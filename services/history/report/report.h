// The report of a job: what it was, how it used its machines, what the rules found, why, and what
// was done. Of a running job it tells what is known so far.
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
  RuleDefinitions rules;  // in force; empty: not known
  std::string version;
  std::string link;  // of the job's page
};

// A section that would take more than the bounds says so and is left out. Errors: the history's.
StatusOr<Document> MakeReport(const ReportRequest& request);

}  // namespace pitwall::history
