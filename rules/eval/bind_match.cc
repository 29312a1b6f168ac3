#include <algorithm>
#include <utility>

#include "rules/eval/match.h"
#include "services/base/text/strings.h"

namespace pitwall::eval {
namespace {

// Units of work (WorkMeter) per result.
constexpr size_t kResultWork = 200;

std::vector<std::string> WithMetadata(std::vector<std::string> names) {
  for (const std::string& metadata : MetadataLabels()) names.push_back(metadata);
  return names;
}

bool IsIdentity(const std::vector<uint32_t>& places, size_t input_size) {
  if (places.size() != input_size) return false;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] != i) return false;
  }
  return true;
}

}  // namespace

std::string GoString(const Labels& labels) {
  std::string out = "{";
  for (const Label& label : labels) {
    if (out.size() > 1) out += ", ";
    CatTo(out, label.name, "=", Quote(label.value));
  }
  out += '}';
  return out;
}

size_t MatchTable::MemoryBytes() const {
  return (left.capacity() + right.capacity() + many_start.capacity() + many.capacity() +
          one_start.capacity() + one.capacity() + target_start.capacity() + target.capacity()) *
         4;
}

MatchBinder::MatchBinder(const plan::BinaryOperation& binary, LabelTable* table)
    : matching_(binary.matching) {
  const plan::Matching& m = binary.matching;
  signature_ = table->AddTransform(m.on, m.on ? m.labels : WithMetadata(m.labels));
  const bool drop_name = binary.return_bool || !IsComparison(binary.op);
  if (m.cardinality == plan::Cardinality::kOneToOne) {
    rename_ = true;
    std::vector<std::string> names = m.labels;
    if (drop_name) {
      for (const std::string& metadata : MetadataLabels()) {
        std::erase(names, metadata);
        if (!m.on) names.push_back(metadata);
      }
    }
    result_ = table->AddTransform(m.on, std::move(names));
  } else if (drop_name) {
    rename_ = true;
    result_ = table->drop_name();
  }
  included_ = table->AddTransform(true, m.include);
}

StatusOr<LabelId> MatchBinder::Result(const Context& context, LabelId many, LabelId one) {
  LabelTable& table = *context.table;
  const LabelId base = rename_ ? table.Apply(result_, many) : many;
  if (matching_.include.empty()) return base;
  // Copies each included label from the "one" side. Removes the label if the "one" side does not
  // have it.
  const Labels& from = table.Get(table.Apply(included_, one));
  Labels merged = table.Get(base).Drop(matching_.include);
  std::vector<Label> pairs(merged.begin(), merged.end());
  pairs.insert(pairs.end(), from.begin(), from.end());
  const Labels joined = Labels::FromPairs(std::move(pairs));
  RETURN_IF_ERROR(meter_.Add(context.labels, joined));
  return table.Intern(joined);
}

Status MatchBinder::Bind(Context& context, Inputs inputs, MatchTable* out) {
  *out = MatchTable();
  meter_.Reset();
  LabelTable& table = *context.table;
  const bool swapped = matching_.cardinality == plan::Cardinality::kOneToMany;
  const bool one_to_one = matching_.cardinality == plan::Cardinality::kOneToOne;
  const std::span<const LabelId> many = inputs[swapped ? 1 : 0]->column->ids();
  const std::span<const LabelId> one = inputs[swapped ? 0 : 1]->column->ids();

  // Groups are numbered by their first "one" member. Elements on the "many" side without a group
  // never match.
  std::vector<LabelId> many_group(many.size()), one_group(one.size());
  for (size_t i = 0; i < many.size(); ++i) many_group[i] = table.Apply(signature_, many[i]);
  for (size_t j = 0; j < one.size(); ++j) one_group[j] = table.Apply(signature_, one[j]);
  std::vector<uint32_t> number(table.limit(), kNoLabel);
  uint32_t groups = 0;
  for (LabelId& id : one_group) {
    if (number[id] == kNoLabel) number[id] = groups++;
    id = number[id];
  }
  for (LabelId& id : many_group) id = number[id];
  const auto members = [groups](const std::vector<LabelId>& group_of, std::vector<uint32_t>* start,
                                std::vector<uint32_t>* list) {
    start->assign(groups + 1, 0);
    for (const LabelId g : group_of) {
      if (g != kNoLabel) ++(*start)[g + 1];
    }
    for (size_t g = 0; g < groups; ++g) (*start)[g + 1] += (*start)[g];
    list->resize(start->back());
    std::vector<uint32_t> next(start->begin(), start->end() - 1);
    for (size_t i = 0; i < group_of.size(); ++i) {
      if (group_of[i] != kNoLabel) (*list)[next[group_of[i]]++] = static_cast<uint32_t>(i);
    }
  };
  members(many_group, &out->many_start, &out->many);
  members(one_group, &out->one_start, &out->one);

  out->per_pair = !matching_.include.empty();
  size_t results = 0;
  out->target_start.assign(groups + 1, 0);
  bool single = true;  // each group has one "one" member; in one-to-one matching, it also has at
                       // most one "many" member
  for (size_t g = 0; g < groups; ++g) {
    const size_t n_many = out->many_start[g + 1] - out->many_start[g];
    const size_t n_one = out->one_start[g + 1] - out->one_start[g];
    if (n_one > 1 || (one_to_one && n_many > 1)) single = false;
    results += n_many * (out->per_pair ? n_one : 1);
    if (results > context.max_elements) return TooManyElements(results, context.max_elements);
    out->target_start[g + 1] = static_cast<uint32_t>(results);
  }

  std::vector<LabelId> ids(results);
  for (size_t g = 0; g < groups; ++g) {
    size_t at = out->target_start[g];
    const size_t n_one = out->per_pair ? out->one_start[g + 1] - out->one_start[g] : 1;
    for (size_t i = out->many_start[g]; i < out->many_start[g + 1]; ++i) {
      RETURN_IF_ERROR(context.Work(n_one * kResultWork));
      for (size_t j = 0; j < n_one; ++j) {
        ASSIGN_OR_RETURN(ids[at++],
                         Result(context, many[out->many[i]], one[out->one[out->one_start[g] + j]]));
      }
    }
  }
  LabelTable::Order order = table.Arrange(ids);
  out->target = std::move(order.place);
  out->simple = single && order.injective;
  if (out->simple) {
    std::vector<uint32_t>& many_at = swapped ? out->right : out->left;
    std::vector<uint32_t>& one_at = swapped ? out->left : out->right;
    many_at.resize(results);
    one_at.resize(results);
    for (size_t g = 0; g < groups; ++g) {
      for (size_t i = out->many_start[g]; i < out->many_start[g + 1]; ++i) {
        const uint32_t t = out->target[out->target_start[g] + (i - out->many_start[g])];
        many_at[t] = out->many[i];
        one_at[t] = out->one[out->one_start[g]];
      }
    }
    out->left_identity = IsIdentity(out->left, inputs[0]->size());
    out->right_identity = IsIdentity(out->right, inputs[1]->size());
    out->many_start = out->many = out->one_start = out->one = out->target_start = out->target = {};
  }
  out->column = table.Column(std::move(order.unique));
  return OkStatus();
}

}  // namespace pitwall::eval
