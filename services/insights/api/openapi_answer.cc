#include "services/insights/api/answers.h"
#include "services/insights/api/openapi_text.h"

namespace pitwall::insights {

Answer AnswerOpenApi(const ApiCall&) {
  http::HttpResponse response;
  response.content_type = "application/yaml";
  response.body = kOpenApiText;
  return response;
}

}  // namespace pitwall::insights
