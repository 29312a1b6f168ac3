#include "services/history/api/answers.h"
#include "services/history/api/openapi_text.h"

namespace pitwall::history {

Answer AnswerOpenApi(const ApiCall&) {
  http::HttpResponse response;
  response.content_type = "application/yaml";
  response.body = kOpenApiText;
  return response;
}

}  // namespace pitwall::history
