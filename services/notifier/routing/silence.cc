#include "services/notifier/routing/silence.h"

#include <algorithm>
#include <tuple>

#include "services/base/text/strings.h"
#include "services/codec/cloudevents/shared_fields.h"
#include "services/codec/json/json_reader.h"

namespace pitwall::notifier {
namespace {

constexpr size_t kMaxText = 1'024;
constexpr size_t kMaxMatchers = 32;
constexpr size_t kMaxJson = 64 * 1024;

}  // namespace

std::string EncodeSilence(const Silence& silence) {
  codec::JsonWriter out;
  out.BeginObject();
  out.Text("id", silence.id);
  out.Key("matchers");
  out.BeginArray();
  for (const std::string& text : silence.matchers.Texts()) out.String(text);
  out.EndArray();
  cloudevents::WriteTime("starts_at", silence.starts_ns, &out);
  cloudevents::WriteTime("ends_at", silence.ends_ns, &out);
  out.Text("author", silence.author);
  out.Text("comment", silence.comment);
  cloudevents::WriteTime("created_at", silence.created_ns, &out);
  out.EndObject();
  return out.Take();
}

StatusOr<Silence> DecodeSilence(std::string_view json) {
  ASSIGN_OR_RETURN(const auto in, codec::JsonReader::Parse(json, kMaxJson));
  Silence silence;
  silence.id = in.String("id");
  const std::vector<std::string> matchers = in.Strings("matchers");
  silence.starts_ns = in.Time("starts_at");
  silence.ends_ns = in.Time("ends_at");
  silence.author = in.String("author");
  silence.comment = in.String("comment");
  silence.created_ns = in.Time("created_at");
  RETURN_IF_ERROR(in.status());
  auto parsed = ParseIssueMatchers(matchers);
  if (!parsed.ok()) return Annotate(parsed.status(), "matchers");
  silence.matchers = *std::move(parsed);
  return silence;
}

Status CheckSilence(const Silence& silence) {
  if (silence.matchers.matchers.empty()) return InvalidArgument("matchers: must not be empty");
  if (silence.matchers.matchers.size() > kMaxMatchers)
    return InvalidArgument(Cat("matchers: at most ", kMaxMatchers, " matchers are allowed"));
  size_t length = 0;
  for (const std::string& text : silence.matchers.Texts()) length += text.size();
  if (length > 8 * kMaxText)
    return InvalidArgument("matchers: must not be longer than 8192 bytes in total");
  if (Trim(silence.author).empty())
    return InvalidArgument(
        "author: must not be empty; enter the name of the person who creates the silence");
  if (Trim(silence.comment).empty())
    return InvalidArgument("comment: must not be empty; enter the reason");
  if (silence.author.size() > kMaxText || silence.comment.size() > kMaxText)
    return InvalidArgument(Cat("author, comment: must each be at most ", kMaxText, " bytes long"));
  if (silence.ends_ns <= silence.starts_ns)
    return InvalidArgument("ends_at: must be later than starts_at");
  return OkStatus();
}

void SilenceSet::Put(Silence silence) {
  const MutexLock lock(&mutex_);
  ++version_;
  const int64_t newest = silence.created_ns;
  std::string id = silence.id;
  silences_[std::move(id)] = std::move(silence);
  std::erase_if(silences_,
                [&](const auto& entry) { return entry.second.ends_ns + kKeepNs < newest; });
  // Ended silences are needed only after a restart, so they may be dropped first.
  while (silences_.size() > 4 * kMaxSilences) {
    silences_.erase(std::min_element(
        silences_.begin(), silences_.end(),
        [](const auto& a, const auto& b) { return a.second.ends_ns < b.second.ends_ns; }));
  }
}

void SilenceSet::Remove(std::string_view id) {
  const MutexLock lock(&mutex_);
  const auto at = silences_.find(id);
  if (at == silences_.end()) return;
  silences_.erase(at);
  ++version_;
}

std::vector<Silence> SilenceSet::List() const {
  std::vector<Silence> out;
  {
    const MutexLock lock(&mutex_);
    for (const auto& [id, silence] : silences_) out.push_back(silence);
  }
  std::sort(out.begin(), out.end(), [](const Silence& a, const Silence& b) {
    return std::tie(a.starts_ns, a.id) < std::tie(b.starts_ns, b.id);
  });
  return out;
}

size_t SilenceSet::size() const {
  const MutexLock lock(&mutex_);
  return silences_.size();
}

uint64_t SilenceSet::version() const {
  const MutexLock lock(&mutex_);
  return version_;
}

int64_t SilenceSet::SilencedUntil(const IssueEvent& event, int64_t time_ns) const {
  const MutexLock lock(&mutex_);
  int64_t until = time_ns;
  for (bool more = true; more;) {
    more = false;
    for (const auto& [id, silence] : silences_) {
      if (silence.starts_ns > until || silence.ends_ns <= until) continue;
      if (!silence.matchers.Matches(event)) continue;
      until = silence.ends_ns;
      more = true;
    }
  }
  return until;
}

std::vector<Silence> SilenceSet::Holding(const IssueEvent& event, int64_t time_ns) const {
  std::vector<Silence> out;
  const MutexLock lock(&mutex_);
  for (const auto& [id, silence] : silences_) {
    if (silence.starts_ns <= time_ns && time_ns < silence.ends_ns &&
        silence.matchers.Matches(event)) {
      out.push_back(silence);
    }
  }
  return out;
}

std::optional<SilencedIssue> SilencedBy(const SilenceSet& silences, const IssueEvent& event,
                                        int64_t wall_ns) {
  if (event.type != EventType::kIssueFound && event.type != EventType::kIssueUpdated)
    return std::nullopt;
  const std::vector<Silence> holding = silences.Holding(event, wall_ns);
  if (holding.empty()) return std::nullopt;
  const Silence& last =
      *std::max_element(holding.begin(), holding.end(),
                        [](const Silence& a, const Silence& b) { return a.ends_ns < b.ends_ns; });
  return SilencedIssue{IssueId(event), last.author, last.comment,
                       EventTime::FromNs(silences.SilencedUntil(event, wall_ns))};
}

}  // namespace pitwall::notifier
