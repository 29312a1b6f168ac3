#include "services/loadgen/rank_walk.h"

#include <cmath>

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/loadgen/noise.h"
#include "services/model/value.h"

namespace pitwall::loadgen {

void RankWalk::Take(int64_t until_ns, RankNews* news) {
  *news = {};
  news->phase_since_ns = last_end_ns_;
  const std::string mode(kTrainMode);
  while (const RankStep* step = training_->Peek(rank_, until_ns)) {
    const int64_t number = training_->NextStep(rank_);
    for (; phase_ < kPhases.size() && step->ends_ns[phase_] <= until_ns; ++phase_) {
      const int64_t start = phase_ == 0 ? step->start_ns : step->ends_ns[phase_ - 1];
      news->spans.push_back({Span::Kind::kPhase, std::string(kPhases[phase_]),
                             EventTime::FromNs(start), EventTime::FromNs(step->ends_ns[phase_]),
                             number, mode});
    }
    if (phase_ < kPhases.size()) {
      news->phase = kPhases[phase_];
      news->phase_since_ns = phase_ == 0 ? step->start_ns : step->ends_ns[phase_ - 1];
      news->step = number;
      break;
    }
    Log(*step, number, &news->values);
    news->spans.push_back({Span::Kind::kStep, "", EventTime::FromNs(step->start_ns),
                           EventTime::FromNs(step->end_ns()), number, mode});
    news->phase_since_ns = last_end_ns_ = step->end_ns();
    phase_ = 0;
    training_->Pop(rank_);
  }
  news->below_step = training_->NextStep(rank_);
}

void RankWalk::Log(const RankStep& step, int64_t number,
                   std::vector<steps::LoggedValue>* values) const {
  const auto add = [&](std::string metric, double value) {
    values->push_back(
        {std::move(metric), {}, value, step.end_ns() - 1000, number, std::string(kTrainMode)});
  };
  const auto n = static_cast<double>(number);
  const uint64_t bits =
      Mix(seed_, 0x1055 + static_cast<uint64_t>(number), static_cast<uint64_t>(rank_));
  add("train_loss", step.nan ? NormalNan() : 2 + 8 * std::exp(-n / 2000) + 0.02 * Bell(bits));
  for (int64_t i = 0; i < plan_.logged_metrics; ++i) {
    const uint64_t own = Mix(bits, static_cast<uint64_t>(i));
    switch (i) {
      case 0:
        add("train_learning_rate", 3e-4);
        break;
      case 1:
        add("train_grad_norm", 1 + 0.05 * Bell(own));
        break;
      case 2:
        add("train_tokens_total", (n + 1) * 16 * 4096);
        break;
      default:
        add(Cat("train_load_metric_", i), Bell(own));
        break;
    }
  }
}

}  // namespace pitwall::loadgen
