#include "services/adapters/http/client/curl_transport.h"

#include <curl/curl.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "services/adapters/http/client/address_policy.h"
#include "services/adapters/http/client/checked_socket.h"
#include "services/base/mutex.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"

namespace pitwall::http {
namespace {

constexpr size_t kMaxResponseHeaderBytes = 64 * 1024;
constexpr size_t kMaxIdleHandles = 16;

struct Url {
  std::string scheme, host;
};

StatusOr<Url> ParseUrl(std::string_view text) {
  const std::string copy(text);
  CURLU* const url = curl_url();
  if (url == nullptr) return ResourceExhausted("not enough memory to parse a URL");
  StatusOr<Url> out = [&]() -> StatusOr<Url> {
    // Messages never contain the URL, because its query may contain a secret.
    if (copy.find('\0') != std::string::npos ||
        curl_url_set(url, CURLUPART_URL, copy.c_str(), 0) != CURLUE_OK) {
      return InvalidArgument("not a URL");
    }
    const auto part = [&](CURLUPart which) {
      char* value = nullptr;
      if (curl_url_get(url, which, &value, 0) != CURLUE_OK) return std::string();
      std::string result(value);
      curl_free(value);
      return result;
    };
    if (!part(CURLUPART_USER).empty() || !part(CURLUPART_PASSWORD).empty()) {
      return InvalidArgument("URL must not contain a user or password; use a header");
    }
    return Url{part(CURLUPART_SCHEME), part(CURLUPART_HOST)};
  }();
  curl_url_cleanup(url);
  return out;
}

// State shared with the callbacks for one call.
struct Exchange {
  const HttpCall* call = nullptr;
  const AddressPolicy* policy = nullptr;
  bool loopback_allowed = false;
  HttpReply reply;
  size_t header_bytes = 0;
  bool final_answer = false;   // status line of a response, except for status 100
  bool headers_whole = false;  // headers of the final response
  bool too_long = false;
  std::string refused;
};

curl_socket_t OpenSocket(void* user, curlsocktype, curl_sockaddr* to) {
  auto* const exchange = static_cast<Exchange*>(user);
  return OpenCheckedSocket(*exchange->policy, exchange->loopback_allowed, to->family, to->socktype,
                           to->protocol, &to->addr, &exchange->refused);
}

size_t OnBody(char* data, size_t size, size_t count, void* user) {
  auto* const exchange = static_cast<Exchange*>(user);
  const size_t bytes = size * count;
  if (exchange->reply.body.size() + bytes > exchange->call->max_response_bytes) {
    exchange->too_long = true;
    return 0;
  }
  exchange->reply.body.append(data, bytes);
  return bytes;
}

size_t OnHeader(char* data, size_t size, size_t count, void* user) {
  auto* const exchange = static_cast<Exchange*>(user);
  const size_t bytes = size * count;
  exchange->header_bytes += bytes;
  if (exchange->header_bytes > kMaxResponseHeaderBytes) {
    exchange->too_long = true;
    return 0;
  }
  const std::string_view line = Trim(std::string_view(data, bytes));
  if (StartsWith(line, "HTTP/")) {
    exchange->reply.headers.clear();  // header of a response with status 100
    const size_t status = line.find(' ');
    exchange->final_answer = status != std::string_view::npos && line.substr(status + 1, 1) != "1";
    return bytes;
  }
  if (line.empty()) exchange->headers_whole = exchange->final_answer;
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return bytes;
  std::string name(line.substr(0, colon));
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  exchange->reply.headers.emplace_back(std::move(name), std::string(Trim(line.substr(colon + 1))));
  return bytes;
}

int OnProgress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto* const exchange = static_cast<const Exchange*>(user);
  return exchange->call->cancel != nullptr && exchange->call->cancel->load() ? 1 : 0;
}

class CurlTransport final : public HttpTransport {
 public:
  CurlTransport(CurlTransportOptions options, std::vector<Cidr> allowed)
      : options_(std::move(options)), policy_(std::move(allowed)) {}
  ~CurlTransport() override {
    for (CURL* handle : idle_) curl_easy_cleanup(handle);
  }

  Status CheckUrl(std::string_view text) const override {
    ASSIGN_OR_RETURN(const Url url, ParseUrl(text));
    return CheckUrl(url);
  }

  StatusOr<HttpReply> Perform(const HttpCall& call) override {
    ASSIGN_OR_RETURN(const Url url, ParseUrl(call.url));
    RETURN_IF_ERROR(CheckUrl(url));
    Exchange exchange;
    exchange.call = &call;
    exchange.policy = &policy_;
    exchange.loopback_allowed = IsLoopbackName(url.host);
    CURL* const handle = Take();
    if (handle == nullptr) return ResourceExhausted("not enough memory for an HTTP call");
    curl_slist* headers = nullptr;
    const Status set = SetUp(handle, call, &exchange, &headers);
    StatusOr<HttpReply> reply = set.ok() ? Run(handle, &exchange) : StatusOr<HttpReply>(set);
    curl_slist_free_all(headers);
    // A connection is not reused after a failure.
    if (reply.ok()) {
      Give(handle);
    } else {
      curl_easy_cleanup(handle);
    }
    return reply;
  }

 private:
  Status CheckUrl(const Url& url) const {
    if (url.host.empty()) return InvalidArgument("URL has no host");
    if (url.scheme == "https") return OkStatus();
    if (url.scheme != "http")
      return InvalidArgument(Cat("scheme ", Quote(url.scheme), ": must be https"));
    if (IsLoopbackName(url.host) || options_.allow_insecure) return OkStatus();
    return InvalidArgument("http is allowed only to loopback; use https or set allow_insecure");
  }

  CURL* Take() {
    {
      MutexLock lock(&mutex_);
      if (!idle_.empty()) {
        CURL* const handle = idle_.back();
        idle_.pop_back();
        return handle;
      }
    }
    return curl_easy_init();
  }

  void Give(CURL* handle) {
    curl_easy_reset(handle);  // keeps the connections open
    {
      MutexLock lock(&mutex_);
      if (idle_.size() < kMaxIdleHandles) {
        idle_.push_back(handle);
        return;
      }
    }
    curl_easy_cleanup(handle);
  }

  Status SetUp(CURL* h, const HttpCall& call, Exchange* exchange, curl_slist** headers) const {
    bool ok = true;
    const auto set = [&](CURLoption option, auto value) {
      ok = curl_easy_setopt(h, option, value) == CURLE_OK && ok;
    };
    for (const auto& [name, value] : call.headers) {
      if (name.find_first_of("\r\n:") != std::string::npos ||
          value.find_first_of("\r\n") != std::string::npos) {
        return InvalidArgument(Cat("header ", Quote(name), " contains a line break"));
      }
      // libcurl sends a header with an empty value only if it is written as "Name;".
      curl_slist* const more = curl_slist_append(
          *headers, (value.empty() ? Cat(name, ";") : Cat(name, ": ", value)).c_str());
      if (more == nullptr) return ResourceExhausted("not enough memory for headers");
      *headers = more;
    }
    // An empty Expect header avoids a 100-continue round trip.
    curl_slist* const expect = curl_slist_append(*headers, "Expect:");
    if (expect == nullptr) return ResourceExhausted("not enough memory for headers");
    *headers = expect;
    set(CURLOPT_HTTPHEADER, *headers);
    set(CURLOPT_URL, call.url.c_str());
    set(CURLOPT_CUSTOMREQUEST, call.method.c_str());
    if (call.method != "GET") {
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call.body.size()));
      set(CURLOPT_POSTFIELDS, call.body.c_str());
      set(CURLOPT_CUSTOMREQUEST, call.method.c_str());
    }
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_PROXY, "");
    set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
#if LIBCURL_VERSION_NUM >= 0x075500
    set(CURLOPT_PROTOCOLS_STR, "https,http");
#else
    set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTPS | CURLPROTO_HTTP));
#endif
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    set(CURLOPT_SSL_VERIFYPEER, 1L);
    set(CURLOPT_SSL_VERIFYHOST, 2L);
    if (!options_.ca_file.empty()) {
      set(CURLOPT_CAINFO, options_.ca_file.c_str());
#if LIBCURL_VERSION_NUM >= 0x075700
      set(CURLOPT_CA_CACHE_TIMEOUT, 0L);  // the file may be replaced while the process runs
#endif
    }
    set(CURLOPT_USERAGENT, options_.user_agent.c_str());
    set(CURLOPT_TIMEOUT_MS,
        static_cast<long>(std::max<int64_t>(1, call.timeout / Duration::Millis(1))));
    set(CURLOPT_CONNECTTIMEOUT_MS,
        static_cast<long>(std::max<int64_t>(1, options_.connect_timeout_ns / 1'000'000)));
    if (!call.status_suffices)
      set(CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(call.max_response_bytes));
    set(CURLOPT_OPENSOCKETFUNCTION, &OpenSocket);
    set(CURLOPT_OPENSOCKETDATA, exchange);
    set(CURLOPT_WRITEFUNCTION, &OnBody);
    set(CURLOPT_WRITEDATA, exchange);
    set(CURLOPT_HEADERFUNCTION, &OnHeader);
    set(CURLOPT_HEADERDATA, exchange);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, &OnProgress);
    set(CURLOPT_XFERINFODATA, exchange);
    if (!ok) return Internal("libcurl rejected an option");
    return OkStatus();
  }

  static StatusOr<HttpReply> Run(CURL* handle, Exchange* exchange) {
    char detail[CURL_ERROR_SIZE] = "";
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, detail);
    const CURLcode code = curl_easy_perform(handle);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, nullptr);
    const bool enough = exchange->call->status_suffices && exchange->headers_whole &&
                        code != CURLE_ABORTED_BY_CALLBACK;
    if (code == CURLE_OK || enough) {
      long status = 0;
      curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
      exchange->reply.status = static_cast<int>(status);
      return std::move(exchange->reply);
    }
    const std::string why = detail[0] != '\0' ? detail : curl_easy_strerror(code);
    if (exchange->too_long || code == CURLE_FILESIZE_EXCEEDED) {
      return ResourceExhausted(
          Cat("the response is longer than ", exchange->call->max_response_bytes, " bytes"));
    }
    if (!exchange->refused.empty()) {
      return FailedPrecondition(Cat("not allowed: ", exchange->refused));
    }
    if (code == CURLE_ABORTED_BY_CALLBACK) return Cancelled("the call was canceled");
    if (code == CURLE_OPERATION_TIMEDOUT) return DeadlineExceeded(why);
    if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL)
      return InvalidArgument(why);
    return Unavailable(why);
  }

  const CurlTransportOptions options_;
  const AddressPolicy policy_;
  Mutex mutex_;
  std::vector<CURL*> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

StatusOr<std::unique_ptr<HttpTransport>> MakeCurlTransport(CurlTransportOptions options) {
  static std::once_flag once;
  static CURLcode started = CURLE_OK;
  std::call_once(once, [] { started = curl_global_init(CURL_GLOBAL_DEFAULT); });
  if (started != CURLE_OK) return Internal(Cat("libcurl: ", curl_easy_strerror(started)));
  std::vector<Cidr> allowed;
  for (const std::string& text : options.allowed_cidrs) {
    ASSIGN_OR_RETURN(const Cidr cidr, Cidr::Parse(text));
    allowed.push_back(cidr);
  }
  return std::make_unique<CurlTransport>(std::move(options), std::move(allowed));
}

}  // namespace pitwall::http
