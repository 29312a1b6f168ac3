// Property test for random expressions over a store that changes randomly. The test compares the
// bound evaluator with a naive evaluator that operates on maps of label sets, like the Prometheus
// engine.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <random>

#include "rules/eval/arithmetic.h"
#include "rules/eval/testing/fake_store.h"
#include "services/base/testing/random_seed.h"
#include "services/base/text/strings.h"

namespace pitwall::eval {
namespace {

using plan::Cardinality;
using plan::FunctionId;
using plan::Matching;
using plan::NodeId;
using plan::ValueType;

struct Failed {};
using Elements = std::vector<std::pair<Labels, double>>;  // sorted by labels; a scalar has one
                                                          // entry without labels

// Naive evaluator without optimizations, written directly from the definitions in promql/engine.go.
class Naive {
 public:
  Naive(const plan::DomainPlan& domain, const FakeStore& store, int64_t tick)
      : domain_(domain), store_(store), tick_(tick) {}

  Elements Evaluate(NodeId id) {
    const plan::Node& n = domain_.nodes[id.index()];
    std::vector<Elements> in;
    for (const NodeId i : n.inputs) in.push_back(Evaluate(i));
    return std::visit([&](const auto& operation) { return Result(n, operation, in); }, n.operation);
  }

 private:
  using Map_ = std::map<Labels, double>;

  Elements Result(const plan::Node&, const plan::Number& n, const std::vector<Elements>&) const {
    return {{Labels(), n.value}};
  }
  Elements Result(const plan::Node&, const plan::ParameterValue&,
                  const std::vector<Elements>&) const {
    std::abort();
  }
  Elements Result(const plan::Node&, const plan::EvaluationTime&,
                  const std::vector<Elements>&) const {
    return {{Labels(), Seconds(tick_)}};
  }
  Elements Result(const plan::Node& n, const plan::Negation&,
                  const std::vector<Elements>& in) const {
    return Map(in[0], n.type, [](double v) { return -v; });
  }
  static Elements Sorted(const Elements& elements) {
    Map_ out;
    for (const auto& [labels, value] : elements) {
      if (!out.emplace(labels, value).second) throw Failed();  // both have the same label set
    }
    return {out.begin(), out.end()};
  }
  template <typename F>
  static Elements Map(const Elements& in, ValueType type, F f) {
    Elements out;
    for (const auto& [labels, value] : in) out.emplace_back(labels.DropName(), f(value));
    return type == ValueType::kScalar ? out : Sorted(out);
  }
  Elements Result(const plan::Node&, const plan::DemandColumn& column,
                  const std::vector<Elements>&) const {
    const Selector& selector =
        domain_.demands.selectors[domain_.demands.demands[column.ref.demand].selector];
    Elements out;
    for (const auto& [labels, value] : store_.series()) {
      if (value && selector.Matches(*labels)) {
        out.emplace_back(column.keep_name ? *labels : labels->DropName(), *value);
      }
    }
    return Sorted(out);
  }
  static Labels Signature(const Matching& m, const Labels& labels) {
    return m.on ? labels.Keep(m.labels) : labels.Drop(m.labels).DropName();
  }
  Elements Result(const plan::Node&, const plan::SetOperation& set,
                  const std::vector<Elements>& in) const {
    const Elements& l = in[0];
    const Elements& r = in[1];
    std::map<Labels, int> left, right;
    for (const auto& e : l) left[Signature(set.matching, e.first)] = 1;
    for (const auto& e : r) right[Signature(set.matching, e.first)] = 1;
    Elements out;
    for (const auto& e : l) {
      const bool there = right.count(Signature(set.matching, e.first)) > 0;
      if (set.op == plan::SetOp::kOr || there == (set.op == plan::SetOp::kAnd)) out.push_back(e);
    }
    if (set.op == plan::SetOp::kOr) {
      for (const auto& e : r) {
        if (left.count(Signature(set.matching, e.first)) == 0) out.push_back(e);
      }
    }
    return Sorted(out);
  }
  static double Fold(AggregateOp op, const std::vector<double>& v, double q) {
    double sum = v[0], c = 0, mean = v[0], m2 = std::isfinite(v[0]) ? 0 : NAN;
    double low = v[0], high = v[0];
    for (size_t i = 1; i < v.size(); ++i) {
      KahanAdd(v[i], sum, c);
      if (low > v[i] || std::isnan(low)) low = v[i];
      if (high < v[i] || std::isnan(high)) high = v[i];
      const double delta = v[i] - mean;
      mean += delta / static_cast<double>(i + 1);
      m2 += delta * (v[i] - mean);
    }
    const auto n = static_cast<double>(v.size());
    switch (op) {
      case AggregateOp::kSum:
        return sum + c;
      case AggregateOp::kAvg:  // the values of this test never overflow
        return sum / n + c / n;
      case AggregateOp::kMin:
        return low;
      case AggregateOp::kMax:
        return high;
      case AggregateOp::kCount:
        return n;
      case AggregateOp::kGroup:
        return 1;
      case AggregateOp::kStdvar:
        return m2 / n;
      case AggregateOp::kStddev:
        return std::sqrt(m2 / n);
      default:
        break;
      case AggregateOp::kQuantile: {
        if (std::isnan(q)) return NAN;
        if (q < 0) return -INFINITY;
        if (q > 1) return INFINITY;
        std::vector<double> s = v;
        std::sort(s.begin(), s.end(), [](double a, double b) {
          if (std::isnan(a)) return !std::isnan(b);
          if (a == b) return std::signbit(a) && !std::signbit(b);
          return a < b;
        });
        const double rank = q * (n - 1);
        const double lower = std::max(0.0, std::floor(rank));
        const double upper = std::min(n - 1, lower + 1);
        const double weight = rank - std::floor(rank);
        return s[static_cast<size_t>(lower)] * (1 - weight) +
               s[static_cast<size_t>(upper)] * weight;
      }
    }
    return 0;
  }
  Elements Result(const plan::Node&, const plan::Aggregation& aggregation,
                  const std::vector<Elements>& in) const {
    std::map<Labels, std::vector<double>> groups;
    for (const auto& [labels, value] : in[0]) {
      groups[aggregation.without ? labels.Drop(aggregation.grouping).DropName()
                                 : labels.Keep(aggregation.grouping)]
          .push_back(value);
    }
    Elements out;
    for (const auto& [labels, values] : groups) {
      out.emplace_back(labels, Fold(aggregation.op, values, in.size() > 1 ? in[1][0].second : 0));
    }
    return out;
  }
  Elements Result(const plan::Node& n, const plan::FunctionCall& call,
                  const std::vector<Elements>& in) const {
    switch (call.function) {
      case FunctionId::kAbs:
        return Map(in[0], n.type, [](double v) { return std::fabs(v); });
      case FunctionId::kSgn:
        return Map(in[0], n.type, [](double v) { return v < 0 ? -1 : v > 0 ? 1 : v; });
      case FunctionId::kScalar:
        return {{Labels(), in[0].size() == 1 ? in[0][0].second : NAN}};
      case FunctionId::kVector:
        return in[0];
      case FunctionId::kAbsent:
        return in[0].empty() ? Elements{{Labels(), 1.0}} : Elements{};
      default:
        std::abort();
    }
  }
  Elements Result(const plan::Node& n, const plan::BinaryOperation& binary,
                  const std::vector<Elements>& in) const {
    const Elements& l = in[0];
    const Elements& r = in[1];
    const bool l_scalar = domain_.nodes[n.inputs[0].index()].type == ValueType::kScalar;
    const bool r_scalar = domain_.nodes[n.inputs[1].index()].type == ValueType::kScalar;
    const bool compare = IsComparison(binary.op);
    if (l_scalar && r_scalar) return {{Labels(), Apply(binary.op, l[0].second, r[0].second)}};
    Elements out;
    if (l_scalar || r_scalar) {
      for (const auto& [labels, value] : l_scalar ? r : l) {
        const double a = l_scalar ? l[0].second : value;
        const double b = l_scalar ? value : r[0].second;
        const double result = Apply(binary.op, a, b);
        if (compare && !binary.return_bool) {
          if (result != 0) out.emplace_back(labels, value);
        } else {
          out.emplace_back(labels.DropName(), result);
        }
      }
      return Sorted(out);
    }
    if (l.empty() || r.empty()) return {};
    const Matching& m = binary.matching;
    const bool swapped = m.cardinality == Cardinality::kOneToMany;
    const Elements& many = swapped ? r : l;
    const Elements& one = swapped ? l : r;
    std::map<Labels, const std::pair<Labels, double>*> partner;
    for (const auto& e : one) {
      if (!partner.emplace(Signature(m, e.first), &e).second) throw Failed();
    }
    std::map<Labels, std::map<Labels, int>> matched;
    for (const auto& e : many) {
      const Labels signature = Signature(m, e.first);
      const auto it = partner.find(signature);
      if (it == partner.end()) continue;
      const auto& p = *it->second;
      const double a = swapped ? p.second : e.second;
      const double b = swapped ? e.second : p.second;
      double value = Apply(binary.op, a, b);
      bool keep = true;
      if (compare && !binary.return_bool) {
        keep = value != 0;
        value = a;
      }
      Labels labels = e.first;
      if (!compare || binary.return_bool) labels = labels.DropName();
      if (m.cardinality == Cardinality::kOneToOne) {
        labels = m.on ? labels.Keep(m.labels) : labels.Drop(m.labels);
        if (!matched[signature].empty()) throw Failed();
      }
      for (const std::string& name : m.include) labels = labels.With(name, p.first.Get(name));
      if (!matched[signature].emplace(labels, 1).second) throw Failed();
      if (keep) out.emplace_back(labels, value);
    }
    return Sorted(out);
  }

  const plan::DomainPlan& domain_;
  const FakeStore& store_;
  const int64_t tick_;
};

class RandomProgram {
 public:
  explicit RandomProgram(std::mt19937_64& random) : random_(random) {
    for (const char* metric : {"a", "b", "c", "a|b"}) {
      vectors_.push_back(b.Metric(metric));
      vectors_.push_back(b.Metric(metric, false));
    }
    for (const double v : {0.0, 1.0, -2.5, 3.0, static_cast<double>(NAN)}) {
      scalars_.push_back(b.Number(v));
    }
    scalars_.push_back(b.Time());
    for (int i = 0; i < 60; ++i) Grow();
  }
  ProgramBuilder b;

 private:
  size_t Pick(size_t n) { return static_cast<size_t>(random_() % n); }
  NodeId Vector() { return vectors_[Pick(vectors_.size())]; }
  NodeId Scalar() { return scalars_[Pick(scalars_.size())]; }
  std::vector<std::string> Names() {
    std::vector<std::string> out;
    for (const char* name : {"x", "y", "z"}) {
      if (Pick(2) == 0) out.emplace_back(name);
    }
    if (Pick(8) == 0) out.emplace_back(kMetricName);
    return out;
  }
  Matching Match(bool set) {
    Matching m;
    m.on = Pick(2) == 0;
    m.labels = Names();
    if (!set) {
      m.cardinality = static_cast<Cardinality>(Pick(3));
      if (m.cardinality != Cardinality::kOneToOne) {
        for (const char* name : {"y", "z"}) {
          const bool used = std::find(m.labels.begin(), m.labels.end(), name) != m.labels.end();
          if (Pick(2) == 0 && !(m.on && used)) m.include.emplace_back(name);
        }
      }
    }
    return m;
  }
  void Grow() {
    const auto op = static_cast<BinaryOp>(Pick(13));
    const bool return_bool = IsComparison(op) && Pick(3) == 0;
    switch (Pick(9)) {
      case 0:
        vectors_.push_back(b.Binary(op, Vector(), Scalar(), {}, return_bool));
        break;
      case 1:
        vectors_.push_back(b.Binary(op, Scalar(), Vector(), {}, return_bool));
        break;
      case 2:
      case 3:
        vectors_.push_back(b.Binary(op, Vector(), Vector(), Match(false), return_bool));
        break;
      case 4:
        vectors_.push_back(
            b.Set(static_cast<plan::SetOp>(Pick(3)), Vector(), Vector(), Match(true)));
        break;
      case 5:
      case 6: {
        const auto aggregate = static_cast<AggregateOp>(Pick(9));
        std::optional<NodeId> q;
        if (aggregate == AggregateOp::kQuantile) q = b.Number(static_cast<double>(Pick(11)) / 10);
        vectors_.push_back(b.Aggregate(aggregate, Vector(), Names(), Pick(2) == 0, q));
        break;
      }
      case 7:
        vectors_.push_back(
            Pick(2) == 0 ? b.Negate(Vector())
                         : b.Call(Pick(2) == 0 ? FunctionId::kAbs : FunctionId::kSgn, {Vector()}));
        break;
      default:
        if (Pick(2) == 0) {
          scalars_.push_back(b.Call(FunctionId::kScalar, {Vector()}));
        } else {
          vectors_.push_back(Pick(2) == 0 ? b.Call(FunctionId::kAbsent, {Vector()})
                                          : b.Call(FunctionId::kVector, {Scalar()}));
        }
    }
  }

  std::mt19937_64& random_;
  std::vector<NodeId> vectors_, scalars_;
};

bool SameBits(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

std::string Show(const Elements& elements) {
  std::string out;
  for (const auto& [labels, value] : elements) {
    CatTo(out, labels.ToString(), " ", FormatDouble(value), "; ");
  }
  return out;
}

TEST(Property, BoundEvaluationMatchesNaiveEvaluator) {
  const uint64_t seed = RandomSeed();
  SCOPED_TRACE(Cat("PITWALL_TEST_SEED=", seed));
  std::mt19937_64 random(seed);
  size_t compared = 0, elements = 0, failed = 0;
  for (int round = 0; round < 60; ++round) {
    RandomProgram random_program(random);
    const auto program = random_program.b.Build();
    const plan::DomainPlan& domain = program->domains[0];
    FakeStore store(domain);
    Evaluator evaluator(program, 0);
    for (int tick = 0; tick < 12; ++tick) {
      // Some ticks change only values, and others change the set of series.
      const size_t changes = 1 + random() % (tick == 0 ? 30 : 6);
      for (size_t k = 0; k < changes; ++k) {
        const char* names[] = {"a", "b", "c"};
        const char* xs[] = {"", "1", "2"};
        const char* ys[] = {"", "p", "q"};
        const char* zs[] = {"", "7"};
        const Labels labels({{"__name__", names[random() % 3]},
                             {"x", xs[random() % 3]},
                             {"y", ys[random() % 3]},
                             {"z", zs[random() % 2]}});
        const double values[] = {0, 1, 2, 3.5, -1, 1e-3, NAN, INFINITY, 1e17, 0.1};
        const double value = values[random() % 10];
        store.Change(random() % 6, labels, value);
      }
      if (random() % 5 == 0) store.Reverse();
      const int64_t at = static_cast<int64_t>(tick) * 1'500'000'000;
      evaluator.Begin(at, &store);
      for (uint32_t i = 0; i < domain.nodes.size(); ++i) {
        // Nodes are evaluated at irregular ticks, so their bindings become outdated.
        if (random() % 3 == 0) continue;
        const NodeId node(i);
        Elements want;
        bool want_failure = false;
        try {
          want = Naive(domain, store, at).Evaluate(node);
        } catch (const Failed&) {
          want_failure = true;
        }
        const auto got = evaluator.Evaluate(node);
        ++compared;
        ASSERT_EQ(!got.ok(), want_failure)
            << "round " << round << " tick " << tick << " node " << i << " " << got.status();
        if (want_failure) {
          ++failed;
          continue;
        }
        Elements have;
        for (size_t k = 0; k < (*got)->size(); ++k) {
          if ((*got)->present[k] != 0) {
            have.emplace_back((*got)->labels(k), (*got)->values[k]);
          }
        }
        ASSERT_EQ(have.size(), want.size()) << "round " << round << " tick " << tick << " node "
                                            << i << "\n " << Show(have) << "\n " << Show(want);
        for (size_t k = 0; k < have.size(); ++k) {
          ASSERT_EQ(have[k].first, want[k].first);
          ASSERT_TRUE(SameBits(have[k].second, want[k].second))
              << "round " << round << " tick " << tick << " node " << i << " "
              << domain.nodes[i].text << " operation " << domain.nodes[i].operation.index() << "\n "
              << Show(have) << "\n " << Show(want);
        }
        elements += have.size();
      }
    }
  }
  // Checks that the test compared enough errors and results to be effective.
  EXPECT_GT(compared, 10'000u);
  EXPECT_GT(elements, 10'000u);
  EXPECT_GT(failed, 100u);
}

}  // namespace
}  // namespace pitwall::eval
