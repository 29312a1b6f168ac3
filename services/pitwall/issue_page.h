// One issue with all that is known of it, as `issues show` prints it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/io/issue_source.h"
#include "services/model/issues/action.h"
#include "services/model/issues/capture.h"
#include "services/model/issues/told.h"
#include "services/pitwall/issue_lines.h"

namespace pitwall {

struct IssueView {
  std::vector<IssueEventPtr> events;                // oldest first, not empty
  std::vector<IssueEventPtr> incident;              // last event of each issue of its incident
  std::optional<std::vector<ActionEvent>> actions;  // nothing: they cannot be read this way
  std::vector<RankCapture> captures;                // that it asked for
  std::optional<std::vector<ToldNotice>> told;      // as actions
};

std::string IssuePageText(const IssueView& view, const IssueNames& names);

}  // namespace pitwall
