// The routes of the history where several processes keep it: whatever is asked of one is answered
// for all. A request about one job goes to its holder, lists and queries ask all, and what a peer
// asks is answered from here alone, so that no request goes round.
#pragma once

#include <vector>

#include "services/adapters/http/http_server.h"
#include "services/history/history.h"
#include "services/history/peers/federated_history.h"

namespace pitwall::history {

// A handler waits for peers while theirs wait for ours: of the server's threads some are always
// free for what peers ask.
inline constexpr int kFleetHandlerThreads = 32;
inline constexpr int kMostWaiting = 28;

// `all`: the routes over the fleet. `own`: the same over this process's own history. Both in the
// same order. The routes keep nothing alive but what the handlers do.
std::vector<http::HttpRoute> FleetRoutes(const FederatedHistory* fleet, const History* own_history,
                                         std::vector<http::HttpRoute> all,
                                         std::vector<http::HttpRoute> own);

}  // namespace pitwall::history
