// Arithmetic and comparison operators between two vectors.
#include <algorithm>

#include "rules/eval/arithmetic.h"
#include "rules/eval/match.h"
#include "services/base/text/strings.h"

namespace pitwall::eval {
namespace {

bool AnyPresent(const Vector& v) {
  for (const uint8_t p : v.present) {
    if (p != 0) return true;
  }
  return false;
}

class MatchOperator : public Operator {
 public:
  MatchOperator(const plan::BinaryOperation& binary, LabelTable* table)
      : binary_(binary), binder_(binary, table) {}

  Status Bind(Context& context, Inputs inputs) override {
    RETURN_IF_ERROR(binder_.Bind(context, inputs, &table_));
    const size_t n = table_.column->size();
    values_.assign(n, 0);
    present_.assign(n, 0);
    claimed_.assign(table_.simple ? 0 : n, 0);
    return OkStatus();
  }

  Status Run(Context&, Inputs inputs, Vector* out) override {
    out->column = table_.column;
    out->values = values_;
    out->present = present_;
    if (table_.simple) {
      Simple(*inputs[0], *inputs[1]);
      return OkStatus();
    }
    return General(*inputs[0], *inputs[1]);
  }

  size_t MemoryBytes() const override {
    return table_.MemoryBytes() + values_.capacity() * 8 + present_.capacity() +
           claimed_.capacity() * 4;
  }
  size_t LabelBytes() const override { return binder_.LabelBytes(); }

 private:
  void Simple(const Vector& left, const Vector& right) {
    const uint32_t* const l = table_.left.data();
    const uint32_t* const r = table_.right.data();
    const auto direct = [](size_t i) { return i; };
    const auto via_left = [l](size_t i) { return size_t{l[i]}; };
    const auto via_right = [r](size_t i) { return size_t{r[i]}; };
    if (table_.left_identity && table_.right_identity) {
      Loops(left, right, direct, direct);
    } else if (table_.left_identity) {
      Loops(left, right, direct, via_right);
    } else if (table_.right_identity) {
      Loops(left, right, via_left, direct);
    } else {
      Loops(left, right, via_left, via_right);
    }
  }

  template <typename L, typename R>
  void Loops(const Vector& left, const Vector& right, L l, R r) {
    const size_t n = values_.size();
    const double* const a = left.values.data();
    const double* const b = right.values.data();
    const uint8_t* const pa = left.present.data();
    const uint8_t* const pb = right.present.data();
    double* const to = values_.data();
    uint8_t* const there = present_.data();
    for (size_t i = 0; i < n; ++i) {
      there[i] = Both(pa[l(i)] != 0, pb[r(i)] != 0);
    }
    if (!IsComparison(binary_.op)) {
      WithArithmetic(binary_.op, [&](auto f) {
        for (size_t i = 0; i < n; ++i) to[i] = f(a[l(i)], b[r(i)]);
      });
    } else if (binary_.return_bool) {
      WithComparison(binary_.op, [&](auto f) {
        for (size_t i = 0; i < n; ++i) to[i] = f(a[l(i)], b[r(i)]) ? 1.0 : 0.0;
      });
    } else {
      WithComparison(binary_.op, [&](auto f) {
        for (size_t i = 0; i < n; ++i) to[i] = a[l(i)];
        for (size_t i = 0; i < n; ++i) {
          there[i] &= static_cast<uint8_t>(f(a[l(i)], b[r(i)]));
        }
      });
    }
  }

  Status General(const Vector& left, const Vector& right) {
    std::fill(present_.begin(), present_.end(), 0);
    if (!AnyPresent(left) || !AnyPresent(right)) return OkStatus();
    const bool swapped = binary_.matching.cardinality == plan::Cardinality::kOneToMany;
    const bool one_to_one = binary_.matching.cardinality == plan::Cardinality::kOneToOne;
    const Vector& many = swapped ? right : left;
    const Vector& one = swapped ? left : right;
    std::fill(claimed_.begin(), claimed_.end(), 0);
    const size_t groups = table_.one_start.size() - 1;
    // Duplicates on the "one" side are always errors, even without a match, and are reported before
    // other errors.
    for (size_t g = 0; g < groups; ++g) {
      int64_t found = -1;
      for (size_t j = table_.one_start[g]; j < table_.one_start[g + 1]; ++j) {
        if (one.present[table_.one[j]] == 0) continue;
        if (found >= 0) return DuplicateOne(one, table_.one[j], table_.one[found], swapped);
        found = static_cast<int64_t>(j);
      }
    }
    for (size_t g = 0; g < groups; ++g) {
      size_t j = table_.one_start[g];
      const size_t end = table_.one_start[g + 1];
      while (j < end && one.present[table_.one[j]] == 0) ++j;
      if (j == end) continue;
      const size_t stride = table_.per_pair ? end - table_.one_start[g] : 1;
      const size_t offset = table_.per_pair ? j - table_.one_start[g] : 0;
      const double b = one.values[table_.one[j]];
      bool matched = false;
      for (size_t i = table_.many_start[g]; i < table_.many_start[g + 1]; ++i) {
        if (many.present[table_.many[i]] == 0) continue;
        const size_t k = i - table_.many_start[g];
        const uint32_t t = table_.target[table_.target_start[g] + k * stride + offset];
        if (one_to_one && matched) {
          return InvalidArgument(
              "multiple matches for labels: many-to-one matching must be explicit "
              "(group_left/group_right)");
        }
        matched = true;
        const auto mark = static_cast<uint32_t>(g + 1);
        if (!one_to_one && claimed_[t] == mark) {
          return InvalidArgument(
              "multiple matches for labels: grouping labels must ensure unique matches");
        }
        claimed_[t] = mark;
        const double a = many.values[table_.many[i]];
        double value = 0;
        if (!Combine(swapped ? b : a, swapped ? a : b, &value)) continue;
        if (present_[t] != 0) return SameLabelset();
        present_[t] = 1;
        values_[t] = value;
      }
    }
    return OkStatus();
  }

  // Returns false if the comparison filters out the pair.
  bool Combine(double a, double b, double* value) const {
    const double result = Apply(binary_.op, a, b);
    if (!IsComparison(binary_.op) || binary_.return_bool) {
      *value = result;
      return true;
    }
    *value = a;
    return result != 0;
  }

  Status DuplicateOne(const Vector& one, size_t later, size_t earlier, bool swapped) const {
    const plan::Matching& m = binary_.matching;
    std::vector<std::string> names = m.labels;
    if (!m.on) {
      for (const std::string& metadata : MetadataLabels()) names.push_back(metadata);
    }
    const Labels& labels = one.labels(later);
    const Labels group = m.on ? labels.Keep(names) : labels.Drop(names);
    return InvalidArgument(
        Cat("found duplicate series for the match group ", GoString(group), " on the ",
            swapped ? "left" : "right", " hand-side of the operation: [", GoString(labels), ", ",
            GoString(one.labels(earlier)),
            "];many-to-many matching not allowed: matching labels must be unique on one side"));
  }

  const plan::BinaryOperation& binary_;
  MatchBinder binder_;
  MatchTable table_;
  std::vector<double> values_;
  std::vector<uint8_t> present_;
  // Used in the general case: group + 1 of the last match with this target at this tick.
  std::vector<uint32_t> claimed_;
};

}  // namespace

std::unique_ptr<Operator> MakeMatch(const plan::BinaryOperation& binary, LabelTable* table) {
  return std::make_unique<MatchOperator>(binary, table);
}

}  // namespace pitwall::eval
