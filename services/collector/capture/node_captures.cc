#include "services/collector/capture/node_captures.h"

#include <algorithm>

#include "services/base/log.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/collector/processes/process_snapshot.h"
#include "services/model/sanitize_text.h"

namespace pitwall::collector {
namespace {

namespace pb = ::pitwall::client::v1;

constexpr size_t kNativeThreads = 16;  // shown in addition to the Python threads
constexpr size_t kMaxOperators = 20;

void Count(Counters::Number* number) { number->fetch_add(1, std::memory_order_relaxed); }

std::string Bounded(std::string_view text) { return SanitizeText(text.substr(0, kMaxCaptureText)); }

// Converts a client's answer. Enforces all limits again, because the client is a separate program.
CaptureLook LookOf(const pb::Captured& in, uint64_t* left_out) {
  CaptureLook look;
  look.python = true;
  look.phase = Bounded(in.phase());
  look.mode = Bounded(in.mode());
  look.step_plus_one = in.step_plus_one();
  if (in.has_collective()) {
    look.collective =
        OpenCollective{Bounded(in.collective().group()), Bounded(in.collective().operation()),
                       in.collective().sequence(), in.collective().bytes()};
  }
  look.cpu_seconds = in.cpu_seconds();
  if (in.has_io_bytes()) look.io_bytes = in.io_bytes();
  *left_out = in.left_out();
  for (const pb::ThreadStack& stack : in.threads()) {
    if (look.threads.size() == kMaxCaptureThreads) {
      ++*left_out;
      continue;
    }
    CapturedThread& thread = look.threads.emplace_back();
    thread.id = stack.id();
    thread.name = Bounded(stack.name());
    thread.main = stack.main();
    for (const std::string& frame : stack.frames()) {
      if (thread.frames.size() == kMaxCaptureFrames) {
        ++*left_out;
        continue;
      }
      thread.frames.push_back(Bounded(frame));
    }
  }
  std::stable_sort(
      look.threads.begin(), look.threads.end(),
      [](const CapturedThread& a, const CapturedThread& b) { return a.main > b.main; });
  return look;
}

// Adds the kernel's state to the Python threads, and adds threads unknown to Python.
void AddSystem(const CaptureLook& system, CaptureLook* look) {
  // Thread IDs from another PID namespace would identify different threads.
  const auto main_of = [](const CaptureLook& of) {
    const auto it = std::find_if(of.threads.begin(), of.threads.end(),
                                 [](const CapturedThread& thread) { return thread.main; });
    return it == of.threads.end() ? 0 : it->id;
  };
  if (main_of(*look) == 0 || main_of(*look) != main_of(system)) return;
  size_t native = 0;
  for (const CapturedThread& thread : system.threads) {
    const auto it = std::find_if(look->threads.begin(), look->threads.end(),
                                 [&](const CapturedThread& own) { return own.id == thread.id; });
    if (it != look->threads.end()) {
      it->system = thread.system;
    } else if (native++ < kNativeThreads && look->threads.size() < kMaxCaptureThreads) {
      look->threads.push_back(thread);
      look->threads.back().name += " (native)";
      look->threads.back()
          .frames.clear();  // the state suffices, because the Python frames are more relevant
    }
  }
}

}  // namespace

NodeCaptures::NodeCaptures(NodeCapturesOptions options, const MonotonicEventClock& time,
                           const Clock& clock, Counters* counters, CaptureStates* states)
    : options_(std::move(options)),
      time_(time),
      clock_(clock),
      counters_(counters),
      states_(states) {}

void NodeCaptures::Request(CaptureRequest request) {
  MutexLock lock(&mutex_);
  if (waiting_.size() >= kWaiting) {
    Count(&counters_->captures_refused);
    return;
  }
  waiting_.push_back(std::move(request));
  if (ring_ != nullptr) ring_();
}

void NodeCaptures::OnRequest(std::function<void()> ring) {
  MutexLock lock(&mutex_);
  ring_ = std::move(ring);
}

Status NodeCaptures::RequestCapture(CaptureRequest request) const {
  if (options_.ask == nullptr)
    return FailedPrecondition("this collector does not forward capture requests");
  return options_.ask(std::move(request));
}

bool NodeCaptures::active() {
  if (!running_.empty()) return true;
  MutexLock lock(&mutex_);
  return !waiting_.empty();
}

std::optional<CaptureRequest> NodeCaptures::Next() {
  MutexLock lock(&mutex_);
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (known_.contains(it->id) || it->expires.ns() <= clock_.WallNs()) {
      if (!known_.contains(it->id)) Count(&counters_->captures_refused);
      it = waiting_.erase(it);
      continue;
    }
    const bool under_way = std::any_of(running_.begin(), running_.end(), [&](const Running& other) {
      return other.request.job == it->job;
    });
    if (under_way || running_.size() >= kRunning) {
      ++it;
      continue;
    }
    CaptureRequest request = std::move(*it);
    waiting_.erase(it);
    return request;
  }
  return std::nullopt;
}

void NodeCaptures::Begin(CaptureRequest request, const RanksOf& ranks_of) {
  known_.insert(request.id);
  ids_.push_back(request.id);
  if (ids_.size() > kIds) {
    known_.erase(ids_.front());
    ids_.pop_front();
  }
  Running running;
  for (CaptureRank& rank : ranks_of(request)) {
    const std::vector<int64_t>& wanted = request.ranks;
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), rank.rank) != wanted.end())
      running.ranks.push_back({.who = std::move(rank)});
  }
  if (running.ranks.empty()) return;  // the job runs on other nodes
  Count(&counters_->captures_begun);
  PITWALL_LOG(kInfo, "collector", "capture ", TerminalLine(request.id), " of job ",
              Quote(running.ranks[0].who.job), ": ", running.ranks.size(),
              " local ranks, requested by ", Quote(request.principal));
  running.request = std::move(request);
  running_.push_back(std::move(running));
  Look(&running_.back(), ranks_of);
}

void NodeCaptures::Look(Running* running, const RanksOf& ranks_of) {
  const size_t at = static_cast<size_t>(running->look++);
  running->looked_ns = clock_.MonotonicNs();
  const std::vector<CaptureRank> now =
      at == 0 ? std::vector<CaptureRank>() : ranks_of(running->request);
  for (Rank& rank : running->ranks) {
    for (const CaptureRank& fresh : now) {
      if (fresh.rank == rank.who.rank && fresh.process == rank.who.process) rank.who = fresh;
    }
    rank.system[at] = InspectProcess(options_.root, rank.who.process);
    if (rank.system[at].has_value()) {
      rank.system[at]->phase = rank.who.phase;
      rank.system[at]->mode = rank.who.mode;
      rank.system[at]->step_plus_one = rank.who.step_plus_one;
    }
    if (!rank.who.client.has_value() || !rank.who.answers || !rank.refused.empty()) continue;
    rank.asked[at] = true;
    pb::CollectorMessage message;
    message.mutable_capture()->set_id(running->request.id);
    message.mutable_capture()->set_look(static_cast<uint32_t>(at + 1));
    messages_.emplace_back(*rank.who.client, message.SerializeAsString());
  }
}

bool NodeCaptures::Complete(const Running& running) {
  return std::all_of(running.ranks.begin(), running.ranks.end(), [](const Rank& rank) {
    return !rank.asked[1] || rank.own[1].has_value() || !rank.refused.empty();
  });
}

void NodeCaptures::Step(const RanksOf& ranks_of) {
  while (std::optional<CaptureRequest> request = Next()) Begin(*std::move(request), ranks_of);
  for (auto it = running_.begin(); it != running_.end();) {
    const int64_t since = clock_.MonotonicNs() - it->looked_ns;
    if (it->look == 1) {
      if (since >= kCaptureGapNs) Look(&*it, ranks_of);
      ++it;
      continue;
    }
    if (since < kAnswerNs && !Complete(*it)) {
      ++it;
      continue;
    }
    for (Rank& rank : it->ranks) {
      if (!rank.own[1].has_value() && !rank.system[1].has_value()) {
        Count(&counters_->captures_gone);  // the process has ended, and the engine reports its end
        continue;
      }
      RankCapture capture = Judge(it->request, &rank);
      Count(capture.source == "client" ? &counters_->captures_by_client
                                       : &counters_->captures_by_system);
      states_->Set(capture.job, capture.rank, capture.look.step_plus_one, capture.state);
      if (options_.deliver != nullptr) options_.deliver(std::move(capture));
    }
    it = running_.erase(it);
  }
}

std::string NodeCaptures::WhySystem(const Rank& rank, bool stopped) {
  if (stopped) return "the process is stopped, so its client cannot respond";
  if (!rank.refused.empty()) return rank.refused;
  if (!rank.who.client.has_value()) return "its connection to the collector is lost";
  if (!rank.who.answers) return "its client does not support captures";
  return "its client did not respond within 1 s, because native code holds the interpreter or the "
         "machine is too busy";
}

RankCapture NodeCaptures::Judge(const CaptureRequest& request, Rank* rank) const {
  RankCapture out;
  out.request = request.id;
  out.issue = request.issue;
  out.principal = request.principal;
  out.job = rank->who.job;
  out.job_name = rank->who.job_name;
  out.owner = rank->who.owner;
  out.rank = rank->who.rank;
  out.world_size = rank->who.world_size;
  out.node = options_.node;
  out.pid = rank->who.process.pid;
  out.time = EventTime::FromNs(time_.Now());
  const bool own = rank->own[1].has_value();
  // The system's values are more reliable than the client's, so they take precedence.
  for (size_t i = 0; i < 2; ++i) {
    if (!rank->own[i].has_value() || !rank->system[i].has_value()) continue;
    rank->own[i]->stopped = rank->system[i]->stopped;
    rank->own[i]->cpu_seconds = rank->system[i]->cpu_seconds;
    if (rank->system[i]->io_bytes.has_value()) rank->own[i]->io_bytes = rank->system[i]->io_bytes;
  }
  CaptureLook second = own ? *rank->own[1] : *rank->system[1];
  const CaptureLook first = own && rank->own[0].has_value() ? *rank->own[0]
                            : rank->system[0].has_value()   ? *rank->system[0]
                                                            : second;
  out.change = ChangeBetween(first, second, static_cast<double>(kCaptureGapNs) / 1e9);
  out.state = StateOf(first, second, out.change);
  out.source = own ? "client" : "system";
  if (!own) out.why_system = WhySystem(*rank, second.stopped);
  if (own && rank->system[1].has_value()) AddSystem(*rank->system[1], &second);
  out.operators = std::move(rank->operators);
  out.left_out = rank->left_out;
  out.look = std::move(second);
  return out;
}

std::vector<std::pair<uint64_t, std::string>> NodeCaptures::Messages() {
  return std::exchange(messages_, {});
}

void NodeCaptures::Answered(uint64_t client, const pb::Captured& captured, size_t bytes) {
  const size_t at = captured.look() - size_t{1};
  for (Running& running : running_) {
    if (running.request.id != captured.id()) continue;
    for (Rank& rank : running.ranks) {
      if (rank.who.client != client || at >= 2 || !rank.asked[at] || rank.own[at].has_value() ||
          !rank.refused.empty())
        continue;
      if (bytes > kMaxCaptureBytes) {
        rank.refused =
            Cat("its client's response is ", bytes, " bytes long; the limit is ", kMaxCaptureBytes);
        Count(&counters_->captures_refused);
        return;
      }
      rank.own[at] = LookOf(captured, &rank.left_out);
      rank.operators.clear();
      for (const std::string& name : captured.operators()) {
        if (rank.operators.size() < kMaxOperators) rank.operators.push_back(Bounded(name));
      }
      return;
    }
  }
  Count(&counters_->captures_unasked);
}

void NodeCaptures::Closed(uint64_t client) {
  for (Running& running : running_) {
    for (Rank& rank : running.ranks) {
      if (rank.who.client != client) continue;
      rank.who.client.reset();
      rank.asked[1] = false;
    }
  }
}

}  // namespace pitwall::collector
