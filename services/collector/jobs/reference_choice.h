// Choice of the reference of a job between its declaration, its clients, and its pod.
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

// References that the clients and the pod of a job offer. The reference of the first client is kept
// while it is not a process, or while the process has a client. Otherwise, the client with the
// lowest rank and the same user replaces it. Not thread-safe.
class ReferenceChoice {
 public:
  // Chooses again. Must be called after a change of the clients.
  void Update(const JobClients& clients);
  // Sets the object that owns the pod of one of the job's ranks. Returns false if there is an
  // object already, which is kept.
  bool SetObject(const JobReference& object);
  // Returns the reference of the job. `declared` is that of an option or file, which is preferred;
  // it may be empty.
  JobReference Reference(const JobReference& declared, const JobClients& clients) const;

 private:
  // Appends the other processes of the job to the reference's uid.
  void AddProcesses(const JobClients& clients, std::string* uid) const;

  JobReference by_client_;  // used if neither option nor file has a reference
  JobReference by_pod_;     // used if the client's reference is a process
  int64_t user_ = -1;       // user whose clients may set the reference; -1 if not set yet
};

}  // namespace pitwall::collector
