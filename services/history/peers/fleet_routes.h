// Routes of the history if several processes store it: any of them answers for all. Requests about
// one job go to its holder, and lists and queries ask all processes. Requests from a peer are
// answered locally, so that no request loops.
#pragma once

#include <vector>

#include "services/adapters/http/http_server.h"
#include "services/history/history.h"
#include "services/history/peers/federated_history.h"

namespace pitwall::history {

// Handlers wait for peers while the peers' handlers wait for this process: some server threads stay
// free for requests from peers.
inline constexpr int kFleetHandlerThreads = 32;
inline constexpr int kMaxWaiting = 28;

// `all`: routes over all processes. `own`: the same routes over this process's history, in the same
// order. The routes do not extend the lifetime of anything except what the handlers hold.
std::vector<http::HttpRoute> FleetRoutes(const FederatedHistory* fleet, const History* own_history,
                                         std::vector<http::HttpRoute> all,
                                         std::vector<http::HttpRoute> own);

}  // namespace pitwall::history
