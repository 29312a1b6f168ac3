// Settings and receivers of a kind from keys, as the configuration makes them.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/base/text/strings.h"
#include "services/notifier/receivers/kinds/receiver_kind.h"

namespace pitwall::notifier {

// Visitor that sets the keys that have a text, and collects the problems and the visited keys.
class GivenKeys final : public ConfigKeys {
 public:
  explicit GivenKeys(std::map<std::string, std::string> given) : given_(std::move(given)) {}

  void Text(std::string_view key, std::string* field, std::string_view) override {
    if (const std::string* text = Take(key)) *field = *text;
  }
  void Choice(std::string_view key, const std::vector<std::string_view>&, std::string* field,
              std::string_view) override {
    if (const std::string* text = Take(key)) *field = *text;
  }
  void Bool(std::string_view key, bool* field, std::string_view) override {
    if (const std::string* text = Take(key)) *field = *text == "true";
  }
  void Count(std::string_view key, const CountRange&, int64_t* field, std::string_view) override {
    if (const std::string* text = Take(key)) *field = ParseInt(*text).value();
  }
  void Duration(std::string_view key, int64_t* nanoseconds, std::string_view) override {
    if (const std::string* text = Take(key)) *nanoseconds = ParseInt(*text).value();
  }
  void Texts(std::string_view key, std::vector<std::string>* field, std::string_view) override {
    if (const std::string* text = Take(key)) *field = {*text};
  }
  void TextMap(std::string_view key, std::map<std::string, std::string>*,
               std::string_view) override {
    Take(key);
  }
  void Section(std::string_view, std::string_view, const std::function<void()>& visit) override {
    visit();
  }
  void CheckValue(std::string_view key, const std::string& problem) override {
    CheckKey(key, problem);
  }
  void CheckKey(std::string_view key, const std::string& problem) override {
    if (!problem.empty()) problems.push_back(Cat(key, ": ", problem));
  }

  std::vector<std::string> keys, problems;

 protected:
  void Items(std::string_view key, std::string_view, std::string_view, const Sequence&) override {
    Take(key);
  }

 private:
  const std::string* Take(std::string_view key) {
    keys.emplace_back(key);
    const auto found = given_.find(std::string(key));
    return found == given_.end() ? nullptr : &found->second;
  }

  const std::map<std::string, std::string> given_;
};

// Makes the receivers of a kind. A secret is the text "secret of PLACE".
inline StatusOr<std::vector<ReceiverOptions>> Configured(
    const ReceiverKind& kind, const std::map<std::string, std::string>& given) {
  const std::shared_ptr<ReceiverSettings> settings = kind.settings();
  GivenKeys keys(given);
  settings->Keys(keys);
  EXPECT_TRUE(keys.problems.empty()) << keys.problems.front();
  return settings->Make(
      {.external_url = "https://pitwall.invalid",
       .secret = [](const std::string& place) { return Cat("secret of ", place); },
       .signer = [](const std::vector<std::string>&)
           -> StatusOr<std::shared_ptr<const WebhookSigner>> { return nullptr; }});
}

}  // namespace pitwall::notifier
