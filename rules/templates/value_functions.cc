// Template functions that operate on maps and query results.
#include <algorithm>
#include <utility>

#include "rules/templates/template_tree.h"
#include "services/base/text/strings.h"

namespace pitwall::templates {
namespace {

using Result = StatusOr<Value>;
using Given = std::span<const Value>;

constexpr int kMaxDepth = 50;

Status WrongType(const Value& value, std::string_view wanted) {
  return InvalidArgument(Cat("wrong type for value; expected ", wanted, "; got ", GoType(value)));
}
StatusOr<std::string> StringOf(const Value& value) {
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  return WrongType(value, "string");
}
StatusOr<SampleList> ListOf(const Value& value) {
  if (const auto* list = std::get_if<SampleList>(&value)) return *list;
  return WrongType(value, "template.queryResult");
}
StatusOr<SampleRef> SampleOf(const Value& value) {
  if (const auto* sample = std::get_if<SampleRef>(&value)) return *sample;
  return WrongType(value, "*template.sample");
}

Result Len(const FunctionContext& context, Given a) {
  const auto count = [](size_t n) { return Value(static_cast<int64_t>(n)); };
  if (const auto* s = std::get_if<std::string>(&a[0])) return count(s->size());
  if (const auto* list = std::get_if<SampleList>(&a[0])) return count(list->samples->size());
  if (const auto* labels = std::get_if<SampleLabels>(&a[0]))
    return count(labels->sample.get().labels.size());
  if (const auto* arguments = std::get_if<Arguments>(&a[0]))
    return count(arguments->list->values.size());
  if (const auto* map = std::get_if<MapKind>(&a[0])) {
    if (*map == MapKind::kEmpty) return count(0);
    if (*map == MapKind::kParams) return count(context.input->params.size());
    if (*map == MapKind::kLabels)
      return count(context.input->labels == nullptr ? 0 : context.input->labels->size());
  }
  return InvalidArgument(Cat("len of type ", GoType(a[0])));
}

Result Index(const FunctionContext& context, Given a) {
  if (const auto* list = std::get_if<SampleList>(&a[0])) {
    const auto* index = std::get_if<int64_t>(&a[1]);
    if (index == nullptr) return WrongType(a[1], "int");
    if (*index < 0 || static_cast<size_t>(*index) >= list->samples->size())
      return InvalidArgument(Cat("index out of range: ", *index));
    return Value(SampleRef{list->samples, static_cast<size_t>(*index)});
  }
  if (const auto* labels = std::get_if<SampleLabels>(&a[0])) {
    ASSIGN_OR_RETURN(const std::string key, StringOf(a[1]));
    return Value(std::string(labels->sample.get().labels.Get(key)));
  }
  const auto* map = std::get_if<MapKind>(&a[0]);
  if (map == nullptr || *map == MapKind::kRoot) {
    return InvalidArgument(Cat("can't index item of type ", GoType(a[0])));
  }
  ASSIGN_OR_RETURN(const std::string key, StringOf(a[1]));
  if (*map == MapKind::kLabels && context.input->labels != nullptr) {
    return Value(std::string(context.input->labels->Get(key)));
  }
  if (*map == MapKind::kParams) {
    for (const auto& [name, number] : context.input->params) {
      if (name == key) return Value(number);
    }
    return Value(0.0);
  }
  return Value(std::string());
}

Result FirstOf(const FunctionContext&, Given a) {
  ASSIGN_OR_RETURN(SampleList list, ListOf(a[0]));
  if (list.samples->empty()) return InvalidArgument("first() called on vector with no elements");
  return Value(SampleRef{std::move(list.samples), 0});
}
Result ValueOf(const FunctionContext&, Given a) {
  ASSIGN_OR_RETURN(const SampleRef sample, SampleOf(a[0]));
  return Value(sample.get().value);
}
Result LabelOf(const FunctionContext&, Given a) {
  ASSIGN_OR_RETURN(const std::string name, StringOf(a[0]));
  ASSIGN_OR_RETURN(const SampleRef sample, SampleOf(a[1]));
  return Value(std::string(sample.get().labels.Get(name)));
}
Result StringValueOf(const FunctionContext&, Given a) {
  ASSIGN_OR_RETURN(const SampleRef sample, SampleOf(a[0]));
  return Value(std::string(sample.get().labels.Get("__value__")));
}
Result SortByLabel(const FunctionContext&, Given a) {
  ASSIGN_OR_RETURN(const std::string name, StringOf(a[0]));
  ASSIGN_OR_RETURN(const SampleList list, ListOf(a[1]));
  auto sorted = std::make_shared<std::vector<QuerySample>>(*list.samples);
  std::stable_sort(sorted->begin(), sorted->end(), [&](const QuerySample& x, const QuerySample& y) {
    return x.labels.Get(name) < y.labels.Get(name);
  });
  return Value(SampleList{std::move(sorted)});
}
Result ArgumentsOf(const FunctionContext&, Given a) {
  auto list = std::make_shared<ArgumentList>();
  list->values.assign(a.begin(), a.end());
  for (const Value& value : a) {
    if (const auto* inner = std::get_if<Arguments>(&value))
      list->depth = std::max(list->depth, inner->list->depth + 1);
  }
  // The depth limit also bounds the recursion over nested lists.
  if (list->depth > kMaxDepth) return InvalidArgument("args() nested too deeply");
  return Value(Arguments{std::move(list)});
}

constexpr TemplateFunction kFunctions[] = {
    {"len", 1, 1, Len},           {"index", 2, 2, Index},
    {"first", 1, 1, FirstOf},     {"value", 1, 1, ValueOf},
    {"label", 2, 2, LabelOf},     {"strvalue", 1, 1, StringValueOf},
    {"args", 0, -1, ArgumentsOf}, {"sortByLabel", 2, 2, SortByLabel},
};

}  // namespace

std::span<const TemplateFunction> QueryFunctions() { return kFunctions; }

}  // namespace pitwall::templates
