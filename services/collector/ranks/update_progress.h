// Progress of one rank through its client's updates.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "services/codec/steps/step_series.h"
#include "services/collector/publishing/client_cursors.h"

namespace pitwall::collector {

// Tracks which updates have been received and which of them are completely in the log. An update is
// incomplete in the log while a step holds some of its data. After a collector restart, updates up
// to the previous collector's cursor are replayed. They are in the log already, but the pending
// steps can be restored only from them. Owned by the socket thread.
class UpdateProgress {
 public:
  // `known` is the cursor that the previous collector made durable. `resends` is true if the client
  // resends updates that are not durable.
  UpdateProgress(bool resends, const std::optional<ClientCursor>& known);

  // Returns the last received update, or 0 if no update has been received.
  uint64_t received() const { return last_; }
  // Receives the next update. Returns the number of updates that are missing before it.
  uint64_t Receive(uint64_t sequence);
  // Returns whether the last received update is already in the log.
  bool replayed() const { return last_ <= replayed_until_; }
  // Returns the number of dropped spans and values since the previous call. `total` is the client's
  // own count.
  uint64_t CountDropped(uint64_t total);

  // Marks data in the last received update as pending until the step ends.
  void Hold(std::string_view mode, int64_t step);
  // Releases the steps that no longer have pending data in `series`.
  void ReleaseEnded(const steps::StepSeries& series);
  // Releases all steps at the end of the rank.
  void ReleaseAll() { held_.clear(); }

  // Sets the last received and the last completely written update in a cursor.
  void Describe(ClientCursor* cursor) const;

 private:
  uint64_t last_ = 0;
  // Last update that is already in the log. Resent updates up to this one only restore the pending
  // steps.
  uint64_t replayed_until_ = 0;
  // For each unfinished step, by (mode, step): the first update that has pending data.
  std::map<std::pair<std::string, int64_t>, uint64_t> held_;
  uint64_t dropped_ = 0;
};

}  // namespace pitwall::collector
