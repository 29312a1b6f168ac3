#include "services/app/host/private_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall {

Status MakePrivateDirectory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return OkStatus();
  if (errno != EEXIST) return ErrnoStatus(errno, path);
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, path);
  if (!S_ISDIR(info.st_mode) || (info.st_mode & 066) == 0 || info.st_uid != ::geteuid()) {
    return OkStatus();
  }
  if (::chmod(path.c_str(), info.st_mode & 07711) != 0) return ErrnoStatus(errno, path);
  PITWALL_LOG(kWarning, "start", path, ": was readable by other users; restricted it to its owner");
  return OkStatus();
}

}  // namespace pitwall
