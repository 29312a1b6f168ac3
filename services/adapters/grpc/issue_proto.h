// Conversion between issue events and their messages (proto/pitwall/issues/v1/issues.proto). Pure
// functions.
#pragma once

#include "pitwall/issues/v1/issue_service.pb.h"
#include "services/io/issue_source.h"
#include "services/model/issues/issue.h"

namespace pitwall::grpc_adapter {

namespace issues_v1 = ::pitwall::issues::v1;

void ToProto(const IssueEvent& event, issues_v1::IssueEvent* out);
// Converts an event. Unknown enum values become the default, and unknown event types become
// "found", because a client may be older than the server. Parameters are sorted by name.
IssueEvent FromProto(const issues_v1::IssueEvent& event);

void ToProto(const SilencedIssue& silenced, issues_v1::SilencedIssue* out);
SilencedIssue FromProto(const issues_v1::SilencedIssue& silenced);

void ToProto(const IssueFilter& filter, issues_v1::IssueFilter* out);
IssueFilter FromProto(const issues_v1::IssueFilter& filter);

}  // namespace pitwall::grpc_adapter
