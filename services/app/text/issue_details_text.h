// Text with the full details of one issue, for `issues show`.
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
  std::vector<IssueEventPtr> events;                // oldest first, never empty
  std::vector<IssueEventPtr> incident;              // last event of each issue in the same incident
  std::optional<std::vector<ActionEvent>> actions;  // nullopt if the source does not serve actions
  std::vector<RankCapture> captures;                // captures that the issue requested
  // Nullopt if the source does not serve notifications.
  std::optional<std::vector<NotificationRecord>> notifications;
};

std::string IssuePageText(const IssueView& view, const IssueNames& names);

}  // namespace pitwall
