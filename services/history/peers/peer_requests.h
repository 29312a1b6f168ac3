// Handler for requests from peers. The handler uses only the history of this process.
#pragma once

#include <string>
#include <string_view>

#include "services/adapters/http/http_server.h"
#include "services/history/history.h"

namespace pitwall::history {

http::HttpResponse AnswerPeer(const History& own, std::string_view request);

}  // namespace pitwall::history
