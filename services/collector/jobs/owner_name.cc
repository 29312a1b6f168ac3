#include "services/collector/jobs/owner_name.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>

#include "services/base/text/strings.h"
#include "services/model/owner.h"

namespace pitwall::collector {
namespace {
constexpr size_t kMaxOwners = 256;
constexpr size_t kMaxName = 256;
}  // namespace

StatusOr<std::string> ParseOwner(std::string_view text) {
  text = Trim(text);
  if (StartsWith(text, "uid:") || StartsWith(text, "pod:")) {
    RETURN_IF_ERROR(CheckOwner(text));
    return std::string(text);
  }
  if (text.empty() || text.size() > kMaxName)
    return InvalidArgument(Cat("owner ", Quote(text.substr(0, kMaxName)),
                               ": must be a user name, uid:<number>, or pod:<pod uid>"));
  if (std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    std::string owner = Cat("uid:", text);
    RETURN_IF_ERROR(CheckOwner(owner));
    return owner;
  }
  const std::string name(text);
  std::vector<char> buffer(16u << 10);
  passwd entry{};
  passwd* found = nullptr;
  const int error = getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) {
    return InvalidArgument(
        Cat("owner ", Quote(name), ": ",
            error == 0 ? "no such user on this node" : "the user cannot be looked up",
            "; use uid:<number>, pod:<pod uid>, or a user name"));
  }
  return OwnerOf(found->pw_uid, "");
}

StatusOr<std::vector<std::string>> ParseOwners(std::string_view text) {
  std::vector<std::string> owners;
  for (std::string_view part : Split(text, ',')) {
    if (owners.size() == kMaxOwners)
      return InvalidArgument(Cat("at most ", kMaxOwners, " owners are allowed"));
    ASSIGN_OR_RETURN(std::string owner, ParseOwner(part));
    owners.push_back(std::move(owner));
  }
  return owners;
}

StatusOr<int64_t> ParseGroup(std::string_view text) {
  text = Trim(text);
  const bool digits =
      !text.empty() && text.size() <= 10 &&
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (const auto number = ParseInt(text); digits && number.has_value() && *number < UINT32_MAX)
    return *number;
  const std::string name(text.substr(0, kMaxName));
  std::vector<char> buffer(64u << 10);
  group entry{};
  group* found = nullptr;
  if (!digits && !name.empty())
    getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) {
    return InvalidArgument(
        Cat("group ", Quote(name),
            ": no such group on this node; use the name or GID of an existing group"));
  }
  return int64_t{found->gr_gid};
}

}  // namespace pitwall::collector
