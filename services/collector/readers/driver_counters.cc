#include "services/collector/readers/driver_counters.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "services/base/text/strings.h"

namespace pitwall::collector {

namespace {

// Buffer capacity. The kernel writes all current counters regardless of the buffer size in the
// request, and a reconfigured driver may have more counters than before.
constexpr uint32_t kMaxCounters = 1u << 16;

class Socket {
 public:
  Socket() : fd_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // `command` points to a struct from linux/ethtool.h. Its first field is the command number.
  Status Ask(const std::string& device, void* command) const {
    if (fd_ < 0) return ErrnoStatus(errno, "socket");
    if (device.size() >= IFNAMSIZ) return Unimplemented(Cat(device, ": not a valid device name"));
    ifreq request{};
    std::memcpy(request.ifr_name, device.data(), device.size());
    request.ifr_data = static_cast<char*>(command);
    if (ioctl(fd_, SIOCETHTOOL, &request) == 0) return OkStatus();
    if (errno == EOPNOTSUPP || errno == ENODEV || errno == EINVAL)
      return Unimplemented(Cat(device, ": ", std::strerror(errno)));
    return ErrnoStatus(errno, Cat("ethtool ", device));
  }

 private:
  const int fd_;
};

// Memory for a struct followed by a variable-length array, aligned for both.
template <typename Head>
class WithArray {
 public:
  WithArray(uint32_t command, size_t bytes) : memory_((sizeof(Head) + bytes + 7) / 8) {
    head()->cmd = command;
  }
  Head* head() { return reinterpret_cast<Head*>(memory_.data()); }

 private:
  std::vector<uint64_t> memory_;
};

}  // namespace

StatusOr<std::vector<DriverCounter>> EthtoolCounters::Read(const std::string& device) const {
  const Socket socket;
  WithArray<ethtool_sset_info> sets(ETHTOOL_GSSET_INFO, sizeof(uint32_t));
  sets.head()->sset_mask = 1ull << ETH_SS_STATS;
  RETURN_IF_ERROR(socket.Ask(device, sets.head()));
  const uint32_t count = sets.head()->sset_mask == 0 ? 0 : sets.head()->data[0];
  if (count == 0) return Unimplemented(Cat(device, ": has no counters"));
  if (count > kMaxCounters)
    return Internal(
        Cat("ethtool ", device, ": has ", count, " counters; the limit is ", kMaxCounters));
  WithArray<ethtool_gstrings> names(ETHTOOL_GSTRINGS, size_t{kMaxCounters} * ETH_GSTRING_LEN);
  names.head()->string_set = ETH_SS_STATS;
  names.head()->len = count;
  RETURN_IF_ERROR(socket.Ask(device, names.head()));
  WithArray<ethtool_stats> values(ETHTOOL_GSTATS, size_t{kMaxCounters} * sizeof(uint64_t));
  values.head()->n_stats = count;
  RETURN_IF_ERROR(socket.Ask(device, values.head()));
  // If the number differs, the driver was reconfigured between the calls.
  if (names.head()->len != count || values.head()->n_stats != count)
    return Internal(Cat("ethtool ", device, ": the counters changed during the read"));
  std::vector<DriverCounter> counters(count);
  for (uint32_t i = 0; i < count; ++i) {
    const auto* name = reinterpret_cast<const char*>(names.head()->data + i * ETH_GSTRING_LEN);
    counters[i].name.assign(name, strnlen(name, ETH_GSTRING_LEN));
    counters[i].value = values.head()->data[i];
  }
  return counters;
}

}  // namespace pitwall::collector
