// Choice of a job's reference from its declaration, its clients, and its pod.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "services/model/telemetry.h"

namespace pitwall::collector {

inline constexpr std::string_view kProcessPlatform = "process";  // platform of a process reference

inline constexpr size_t kMaxReferenceProcesses = 128;  // maximum per job

// A connected client of a job.
struct JobClient {
  int64_t rank = 0;
  std::string boot_id;
  int64_t pid = 0;
  int64_t user = -1;
  std::string owner;
  JobReference reference;
};
using JobClients = std::map<uint64_t, JobClient>;  // by client

// References offered by a job's clients and pod. The first client's reference is kept if it is not
// a process, or while its process is connected as a client. Otherwise, the reference of the same
// user's client with the lowest rank replaces it. Not thread-safe.
class ReferenceChoice {
 public:
  // Updates the choice. Must be called after the clients change.
  void Update(const JobClients& clients);
  // Sets the object that owns a rank's pod. Returns false, and keeps the existing object, if there
  // is one already.
  bool SetObject(const JobReference& object);
  // Returns the job's reference. `declared` is the reference from an option or file, and takes
  // precedence unless it is empty.
  JobReference Reference(const JobReference& declared, const JobClients& clients) const;

 private:
  // Appends the other processes of the job to the reference's uid.
  void AddProcesses(const JobClients& clients, std::string* uid) const;

  JobReference by_client_;  // used if neither an option nor a file has a reference
  JobReference by_pod_;     // used if the client's reference is a process
  int64_t user_ = -1;       // user whose clients may set the reference; -1 if unset
};

}  // namespace pitwall::collector
