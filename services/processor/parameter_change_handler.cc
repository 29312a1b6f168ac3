#include "services/processor/parameter_change_handler.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/io/topics.h"

namespace pitwall::processor {

ParameterChangeHandler::ParameterChangeHandler(Clock* clock, Log* log, RunningJobs* jobs,
                                               ParameterChangeOptions options)
    : clock_(clock),
      log_(log),
      jobs_(jobs),
      options_(options),
      table_(clock, log),
      worker_(clock, "parameters") {}

ParameterChangeHandler::~ParameterChangeHandler() { Stop(); }

StatusOr<engine::CompiledRulesPtr> ParameterChangeHandler::OverLocked(
    const engine::CompiledRulesPtr& files) {
  RuleSet text = files->text();
  text.job_parameters = table_.Layer();
  if (text.job_parameters.empty()) return files;
  return engine::CompiledRules::Compile(std::move(text));
}

StatusOr<engine::CompiledRulesPtr> ParameterChangeHandler::Over(engine::CompiledRulesPtr files) {
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Annotate(table_.Read(), "parameters of jobs"));
  ASSIGN_OR_RETURN(wanted_, OverLocked(files));
  files_ = std::move(files);
  return wanted_;
}

StatusOr<engine::CompiledRulesPtr> ParameterChangeHandler::SetFiles(
    engine::CompiledRulesPtr files) {
  MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const engine::CompiledRulesPtr over, OverLocked(files));
  RETURN_IF_ERROR(jobs_->SetRules(over));
  wanted_ = over;
  files_ = std::move(files);
  if (on_change_) on_change_(over);
  return over;
}

void ParameterChangeHandler::Start(OnChange on_change) {
  on_change_ = std::move(on_change);
  worker_.Start([this] {
    std::string logged;
    do {
      const Status status = Look();
      std::string problem(ToStd(status.message()));
      if (!status.ok() && problem != logged)
        PITWALL_LOG(kWarning, "processor", "job parameters: ", problem);
      logged = std::move(problem);
    } while (worker_.Wait(options_.look_interval));
  });
}

void ParameterChangeHandler::Stop() { worker_.Stop(); }

Status ParameterChangeHandler::Look() {
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(ReadRequests());
  RETURN_IF_ERROR(table_.Read());
  Watch();
  const Status decided = Decide();
  RETURN_IF_ERROR(ResetOldParameters());
  RETURN_IF_ERROR(PutInForce());
  RETURN_IF_ERROR(ReportRulesInForce());
  return decided;
}

// Reads from a fixed number of records before the end of each partition, so that a restarted
// handler misses no requests and detects requests that already have a reply.
Status ParameterChangeHandler::OpenFollowers() {
  ASSIGN_OR_RETURN(const int32_t partitions, log_->Partitions(kActionsTopic));
  std::vector<std::unique_ptr<TopicFollower>> followers;
  const FollowerOptions options{.last_offsets = options_.read_back, .max_silent_polls = 0};
  for (int32_t p = 0; p < partitions; ++p) {
    if (!jobs_->MayOwn(p, partitions)) continue;
    followers.push_back(std::make_unique<TopicFollower>(
        clock_, log_, TopicPartition{std::string(kActionsTopic), p}, options));
    const auto take = [this](FollowedRecords* read) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      Take(*read);
      return OkStatus();
    };
    RETURN_IF_ERROR(followers.back()->ReadToEnd(take));
  }
  followers_ = std::move(followers);
  return OkStatus();
}

Status ParameterChangeHandler::ReadRequests() {
  if (followers_.empty()) RETURN_IF_ERROR(OpenFollowers());
  for (const auto& follower : followers_) {
    FollowedRecords read;
    const Status polled = follower->Poll(Duration::Zero(), &read);
    Take(read);
    RETURN_IF_ERROR(Annotate(polled, kActionsTopic));
  }
  return OkStatus();
}

void ParameterChangeHandler::Take(const FollowedRecords& read) {
  if (!read.replaced.ok()) PITWALL_LOG(kError, "processor", ToStd(read.replaced.message()));
  for (const Record& record : read.records) {
    // This handler skips records that cannot be decoded, because other readers report them.
    StatusOr<ActionEvent> action = cloudevents::DecodeActionEvent(record.value);
    if (action.ok() && action->kind == ActionKind::kParameter) Take(*std::move(action));
  }
}

void ParameterChangeHandler::Take(ActionEvent action) {
  const std::string id = action.issue;
  if (action.type == ActionEventType::kRequested) {
    if (answered_.contains(id) || waiting_.contains(id) || !jobs_->Owns(action.job)) return;
    // A request over the limit is ignored here. The request expires, and the handler rejects it
    // after the next restart.
    if (waiting_.size() < options_.max_waiting) waiting_[id] = {.request = std::move(action)};
    return;
  }
  waiting_.erase(id);
  if (!answered_.insert(id).second) return;
  answered_order_.push_back(id);
  if (answered_order_.size() <= options_.max_answered) return;
  answered_.erase(answered_order_.front());
  answered_order_.pop_front();
}

void ParameterChangeHandler::Watch() {
  std::set<std::string> jobs;
  for (const auto& [id, one] : waiting_) jobs.insert(one.request.job);
  for (const std::string& job : table_.Jobs()) {
    if (jobs_->Owns(job)) jobs.insert(job);
  }
  jobs_->Watch({jobs.begin(), jobs.end()});
}

// Decides requests in time order. Of two changes to the same parameter, the later one wins.
Status ParameterChangeHandler::Decide() {
  std::set<std::pair<EventTime, std::string>> order;
  for (const auto& [id, one] : waiting_) {
    if (!one.written) order.emplace(one.request.time, id);
  }
  for (const auto& [time, id] : order) RETURN_IF_ERROR(Decide(&waiting_.at(id)));
  return OkStatus();
}

Status ParameterChangeHandler::Decide(Waiting* one) {
  ActionEvent& request = one->request;
  // A previous process may have written the value before a restart.
  const codec::SetParameter* set = Find(request);
  const bool expired = request.expires.ns() <= clock_->WallNs();
  one->written = set != nullptr ? set->request == request.issue
                                : expired && !request.parameter.value.has_value();
  if (one->written) return OkStatus();
  Status refused = OkStatus();
  if (expired)
    refused = FailedPrecondition("request: expired before the processor could handle it");
  const std::optional<WatchedJob> job = jobs_->Watched(request.job);
  if (refused.ok() && !job.has_value()) return OkStatus();  // a later iteration decides the request
  if (refused.ok()) {
    const StatusOr<codec::JobParameters> all = Judge(&request, *job);
    refused = all.status();
    if (all.ok()) {
      RETURN_IF_ERROR(table_.Write(*all));
      one->written = true;
      PITWALL_LOG(kInfo, "processor", "job ", request.job, ": ", request.principal, " sets ",
                  ChangeText(request.parameter), " (", request.why, ")");
      return OkStatus();
    }
  }
  request.why = std::string(ToStd(refused.message()));
  return Answer(request, ActionEventType::kRefused);
}

const codec::SetParameter* ParameterChangeHandler::Find(const ActionEvent& request) const {
  const codec::JobParameters* known = table_.Find(request.job);
  if (known == nullptr) return nullptr;
  for (const codec::SetParameter& one : known->parameters) {
    if (one.parameter.rule == request.parameter.rule &&
        one.parameter.name == request.parameter.name)
      return &one;
  }
  return nullptr;
}

StatusOr<codec::JobParameters> ParameterChangeHandler::Judge(ActionEvent* request,
                                                             const WatchedJob& job) {
  if (!job.found)
    return FailedPrecondition(
        Cat("job: not found (", Quote(request->job), "); the processor does not know this job ID"));
  if (job.ended)
    return FailedPrecondition(
        Cat("job: has ended (", Quote(request->job), "); parameters apply to running jobs only"));
  ParameterChange& change = request->parameter;
  ASSIGN_OR_RETURN(change.before, wanted_->ValueFor(change.rule, change.name, job.identity));
  codec::SetParameter set{{request->job, change.rule, change.name, change.value.value_or(0)},
                          request->principal,
                          clock_->WallNs(),
                          request->issue};
  // A previous change to the same parameter may not be part of wanted_ yet.
  if (const codec::SetParameter* known = Find(*request)) change.before = known->parameter.value;
  if (!change.value.has_value()) return table_.Without(set.parameter);
  if (!std::isfinite(*change.value))
    return InvalidArgument(
        Cat("value: must be a finite number (got ", FormatDouble(*change.value), ")"));
  return table_.With(set);
}

Status ParameterChangeHandler::Answer(ActionEvent answer, ActionEventType type) {
  answer.type = type;
  answer.id = MakeActionId(answer);
  answer.time = EventTime::FromNs(clock_->WallNs());
  answer.expires = EventTime();
  if (appender_ == nullptr) {
    ASSIGN_OR_RETURN(appender_, log_->OpenAppender());
  }
  RETURN_IF_ERROR(appender_->Append({{.topic = std::string(kActionsTopic),
                                      .key = answer.job,
                                      .value = cloudevents::EncodeCloudEvent(answer)}}));
  Take(std::move(answer));
  return OkStatus();
}

Status ParameterChangeHandler::PutInForce() {
  if (files_ == nullptr || wanted_->text().job_parameters == table_.Layer()) return OkStatus();
  ASSIGN_OR_RETURN(const engine::CompiledRulesPtr rules, OverLocked(files_));
  RETURN_IF_ERROR(jobs_->SetRules(rules));
  wanted_ = rules;
  if (on_change_) on_change_(rules);
  return OkStatus();
}

Status ParameterChangeHandler::ReportRulesInForce() {
  std::vector<ActionEvent> done;
  for (const auto& [id, one] : waiting_) {
    if (!one.written) continue;
    const std::optional<WatchedJob> job = jobs_->Watched(one.request.job);
    if (!job.has_value() || job->rule_set_hash != wanted_->hash()) continue;
    done.push_back(one.request);
    done.back().effect = Cat("in force (rule set ", wanted_->hash(), ")");
  }
  for (const ActionEvent& one : done) RETURN_IF_ERROR(Answer(one, ActionEventType::kDone));
  return OkStatus();
}

Status ParameterChangeHandler::ResetOldParameters() {
  if (options_.keep <= Duration::Zero()) return OkStatus();
  const EventTime now = EventTime::FromNs(clock_->WallNs());
  for (const std::string& id : table_.Jobs()) {
    const std::optional<WatchedJob> job = jobs_->Watched(id);
    if (!job.has_value()) continue;
    codec::JobParameters all = *table_.Find(id);
    const bool over = !job->found || job->ended;
    const bool noted = all.over_since != EventTime();
    if (over && noted && now - all.over_since > options_.keep) {
      PITWALL_LOG(kInfo, "processor", "job ", id, " is no longer running; resetting its ",
                  all.parameters.size(), " parameters");
      all.parameters.clear();
    } else if (over == noted) {
      continue;
    }
    all.over_since = over ? now : EventTime();
    RETURN_IF_ERROR(table_.Write(all));
  }
  return OkStatus();
}

}  // namespace pitwall::processor
