#include "services/codec/rule_set_codec.h"

#include <algorithm>

#include "pitwall/state/v1/state.pb.h"
#include "services/base/strings.h"
#include "services/codec/quiet_protobuf.h"

namespace pitwall::codec {
namespace {
constexpr size_t kRecordBytes = 16u << 20;
constexpr int kFiles = 4096;
}  // namespace

std::string EncodeRuleSet(const RuleSet& rules) {
  state::v1::RuleSet message;
  message.set_hash(RuleSetHash(rules));
  for (const RuleSetFile& file : rules.files) {
    state::v1::RuleFile* f = message.add_files();
    f->set_name(file.name);
    f->set_content(file.text);
  }
  if (rules.overrides.has_value()) {
    message.mutable_overrides()->set_name(rules.overrides->name);
    message.mutable_overrides()->set_content(rules.overrides->text);
  }
  for (const RuleSetFile& file : rules.baselines) {
    state::v1::RuleFile* f = message.add_baselines();
    f->set_name(file.name);
    f->set_content(file.text);
  }
  message.set_evaluation_interval_ns(rules.evaluation_interval_ns);
  return message.SerializeAsString();
}

StatusOr<RuleSet> DecodeRuleSet(std::string_view bytes) {
  QuietProtobuf();
  if (bytes.size() > kRecordBytes) {
    return InvalidArgument(Cat("a rule set of ", bytes.size(), " bytes, more than ", kRecordBytes));
  }
  state::v1::RuleSet message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument(Cat("not a RuleSet: cut short, damaged, or text that is not UTF-8 (",
                               bytes.size(), " bytes)"));
  }
  if (const int files = std::max(message.files_size(), message.baselines_size()); files > kFiles)
    return InvalidArgument(Cat("a rule set of ", files, " files, more than ", kFiles));
  if (message.evaluation_interval_ns() <= 0) {
    return InvalidArgument(
        Cat("rule set: evaluation interval ", message.evaluation_interval_ns(), " ns"));
  }
  RuleSet rules;
  for (const state::v1::RuleFile& file : message.files())
    rules.files.push_back({file.name(), file.content()});
  if (message.has_overrides())
    rules.overrides = RuleSetFile{message.overrides().name(), message.overrides().content()};
  for (const state::v1::RuleFile& file : message.baselines())
    rules.baselines.push_back({file.name(), file.content()});
  rules.evaluation_interval_ns = message.evaluation_interval_ns();
  std::vector<std::string_view> names;
  for (const RuleSetFile& file : rules.files) names.push_back(file.name);
  std::sort(names.begin(), names.end());
  const auto twin = std::adjacent_find(names.begin(), names.end());
  if (twin != names.end()) return InvalidArgument(Cat("rule set: two files named ", Quote(*twin)));
  const std::string hash = RuleSetHash(rules);
  if (message.hash() != hash) {
    return DataLoss(Cat("rule set ", Quote(message.hash()), " has the content of ", hash));
  }
  return rules;
}

}  // namespace pitwall::codec
