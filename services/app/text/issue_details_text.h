// Text of one issue with all its data, for `issues show`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/app/text/issue_text.h"
#include "services/io/issue_source.h"
#include "services/model/issues/action.h"
#include "services/model/issues/capture.h"
#include "services/model/issues/notification.h"

namespace pitwall {

struct IssueView {
  std::vector<IssueEventPtr> events;                // oldest first, not empty
  std::vector<IssueEventPtr> incident;              // last event of each issue of the incident
  std::optional<std::vector<ActionEvent>> actions;  // nullopt: the source does not have them
  std::vector<RankCapture> captures;                // requested by the issue
  std::optional<std::vector<NotificationRecord>> notifications;  // like actions
};

std::string IssuePageText(const IssueView& view, const IssueNames& names);

}  // namespace pitwall
