// Routes for a history that is stored by several processes. Every process responds on behalf of all
// of them. A request about one job goes to the job's holder; lists and queries go to all processes.
// Requests from a peer are handled locally, so that requests cannot loop.
#pragma once

#include <vector>

#include "services/adapters/http/http_server.h"
#include "services/history/history.h"
#include "services/history/peers/federated_history.h"

namespace pitwall::history {

// Handlers wait for peers whose handlers may be waiting for this process. Therefore, some server
// threads are reserved for requests from peers.
inline constexpr int kFleetHandlerThreads = 32;
inline constexpr int kMaxWaiting = 28;

// `all` contains the routes for all processes. `own` contains the same routes, in the same order,
// for this process's history only. `fleet` and `own_history` must outlive the returned routes.
std::vector<http::HttpRoute> FleetRoutes(const FederatedHistory* fleet, const History* own_history,
                                         std::vector<http::HttpRoute> all,
                                         std::vector<http::HttpRoute> own);

}  // namespace pitwall::history
