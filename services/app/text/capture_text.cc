#include "services/app/text/capture_text.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "services/app/text/issue_text.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"

namespace pitwall {
namespace {

std::string Line(std::string_view text) { return TerminalLine(text); }

// Returns a grouping key. Ranks with the same stacks have the same key.
std::string KeyOf(const RankCapture& c) {
  std::string key = Cat(CaptureStateName(c.state), "\xff", c.source, "\xff", c.why_system);
  for (const CapturedThread& thread : c.look.threads) {
    CatTo(key, "\xff", thread.name, thread.main ? "*" : "");
    for (const std::string& frame : thread.frames) CatTo(key, "\xfe", frame);
  }
  return key;
}

std::string CollectiveText(const OpenCollective& open) {
  std::string out = Cat("in ", open.operation.empty() ? "a collective" : open.operation);
  if (open.sequence > 0) CatTo(out, " #", open.sequence);
  if (!open.group.empty()) CatTo(out, " of group ", open.group);
  if (open.bytes > 0) CatTo(out, ", ", FormatBytes(static_cast<double>(open.bytes)));
  return out;
}

std::string RankText(const RankCapture& c) {
  std::string out = Cat("rank ", c.rank, " on ", c.node, ", pid ", c.pid);
  if (c.look.step_plus_one > 0) CatTo(out, ", step ", c.look.step_plus_one - 1);
  if (!c.look.phase.empty()) CatTo(out, ", phase ", c.look.phase);
  if (!c.look.mode.empty() && c.look.mode != "train") CatTo(out, ", mode ", c.look.mode);
  if (c.look.collective.has_value()) CatTo(out, ", ", CollectiveText(*c.look.collective));
  CatTo(out, "; CPU ", static_cast<int64_t>(c.change.cpu_share * 100 + 0.5), "% of a core");
  if (c.change.io_bytes.has_value()) {
    CatTo(out, ", ", FormatBytes(static_cast<double>(*c.change.io_bytes)), " read and written");
  } else {
    CatTo(out, ", bytes read and written are unknown");
  }
  if (c.change.same_stacks.has_value())
    CatTo(out, *c.change.same_stacks ? ", stacks did not change" : ", stacks changed");
  if (c.change.went_on) CatTo(out, ", made progress");
  return out;
}

void AddThreads(const RankCapture& c, std::string* out) {
  for (const CapturedThread& thread : c.look.threads) {
    CatTo(*out, "\n    thread ", Line(thread.name.empty() ? Cat(thread.id) : thread.name));
    if (!thread.system.empty()) CatTo(*out, ": ", Line(thread.system));
    for (const std::string& frame : thread.frames) CatTo(*out, "\n      ", Line(frame));
  }
  if (c.left_out > 0) CatTo(*out, "\n    (", c.left_out, " more threads and frames are not shown)");
  if (c.operators.empty()) return;
  CatTo(*out, "\n    operators of the last profile: ", Line(Join(c.operators, ", ")));
}

}  // namespace

std::vector<RankCapture> NewestOfRanks(const std::vector<RankCapture>& captures) {
  std::map<std::pair<std::string, int64_t>, RankCapture> newest;
  for (const RankCapture& capture : captures) {
    const auto [it, first] = newest.try_emplace({capture.job, capture.rank}, capture);
    if (!first && it->second.time <= capture.time) it->second = capture;
  }
  std::vector<RankCapture> out;
  for (auto& [rank, capture] : newest) out.push_back(std::move(capture));
  return out;
}

std::vector<int64_t> MissingRanks(const std::vector<RankCapture>& captures,
                                  const std::vector<int64_t>& wanted) {
  std::set<int64_t> answered;
  int64_t ranks = 0;
  for (const RankCapture& capture : captures) {
    answered.insert(capture.rank);
    ranks = std::max(ranks, std::min<int64_t>(capture.world_size, 1 << 20));
  }
  std::vector<int64_t> missing;
  if (!wanted.empty()) {
    const std::set<int64_t> sorted(wanted.begin(), wanted.end());
    for (const int64_t rank : sorted) {
      if (!answered.contains(rank)) missing.push_back(rank);
    }
    return missing;
  }
  for (int64_t rank = 0; rank < ranks; ++rank) {
    if (!answered.contains(rank)) missing.push_back(rank);
  }
  return missing;
}

std::string RanksText(std::vector<int64_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string out;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i;
    while (end + 1 < ranks.size() && ranks[end + 1] == ranks[end] + 1) ++end;
    if (end < i + 2) end = i;  // two consecutive ranks are listed instead of printed as a range
    CatTo(out, out.empty() ? "" : ", ", ranks[i]);
    if (end > i) CatTo(out, "-", ranks[end]);
    i = end + 1;
  }
  return out;
}

std::string CaptureText(const std::vector<RankCapture>& all, const std::vector<int64_t>& wanted) {
  const std::vector<RankCapture> captures = NewestOfRanks(all);
  std::string out;
  if (!captures.empty()) {
    const RankCapture& one = captures.front();
    CatTo(out, "job ", Line(one.job_name.empty() ? one.job : one.job_name), ", captured at ",
          TimeText(one.time.ns()), ", requested by ", Line(one.principal));
  }
  std::map<std::string, std::vector<const RankCapture*>> alike;
  std::vector<std::string> order;
  for (const RankCapture& capture : captures) {
    std::vector<const RankCapture*>& group = alike[KeyOf(capture)];
    if (group.empty()) order.push_back(KeyOf(capture));
    group.push_back(&capture);
  }
  for (const std::string& key : order) {
    const std::vector<const RankCapture*>& group = alike[key];
    std::vector<int64_t> ranks;
    for (const RankCapture* capture : group) ranks.push_back(capture->rank);
    const RankCapture& first = *group.front();
    CatTo(out, "\n", ranks.size() == 1 ? "rank " : "ranks ", RanksText(ranks), ": ",
          CaptureStateName(first.state));
    if (first.source == "client") {
      CatTo(out, ", by its client");
    } else {
      CatTo(out, ", by the system: ", Line(first.why_system));
    }
    for (const RankCapture* capture : group) CatTo(out, "\n  ", Line(RankText(*capture)));
    AddThreads(first, &out);
  }
  const std::vector<int64_t> missing = MissingRanks(captures, wanted);
  if (!missing.empty()) {
    CatTo(out, out.empty() ? "" : "\n", missing.size() == 1 ? "rank " : "ranks ",
          RanksText(missing),
          ": no reply; the process has ended, runs without the client, or the collector of its "
          "node is unreachable");
  }
  return out;
}

}  // namespace pitwall
