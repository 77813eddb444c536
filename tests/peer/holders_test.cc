#include "gpl/peer/holders.h"

#include <doctest/doctest.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../net/run_until.h"

using namespace gpl;
using namespace gpl::peer;

namespace {

constexpr PeerId a{2};
constexpr PeerId b{3};
constexpr PeerId c{4};

struct Scene {
  explicit Scene(HolderLimits limits = {}) {
    Holders::Around around{
        *loop,
        [this](PeerId to, wire::LinkMessage message) {
          if (!linked.contains(to)) return false;
          sent.emplace_back(to, std::move(message));
          return true;
        },
        [this] { return std::vector<PeerId>(linked.begin(), linked.end()); },
        [this](wire::Holding what, const std::string& key, std::function<void(bool)> told) {
          asked_has.emplace_back(what, key);
          told(has);
        },
        [this](PeerId from, wire::Hold asked, std::function<void(Status)> told) {
          holding.emplace_back(from, std::move(asked));
          held = std::move(told);
        },
        [this](PeerId, const RequestId&,
               std::function<void(Result<std::vector<wire::Secret>>)> told) { told(secrets); }};
    holders.emplace(std::move(around), limits);
  }

  template <class T>
  const T& sent_to(std::size_t index, PeerId to) const {
    REQUIRE(sent.size() > index);
    CHECK(sent[index].first == to);
    return std::get<T>(sent[index].second);
  }
  void find(std::optional<PeerId> preferred) {
    holders->find(wire::Holding::tree, "tree", preferred,
                  [this](std::vector<PeerId> peers) { found = std::move(peers); });
  }
  void has_said(std::size_t index, bool yes) {
    const PeerId from = sent.at(index).first;
    holders->take(from, wire::Has{std::get<wire::DoYouHave>(sent[index].second).number, yes});
  }
  void hold(std::vector<PeerId> candidates) {
    holders->hold({7, 8}, "tree", {{"K", "v"}}, std::move(candidates),
                  [this](Status status) { done = std::move(status); });
  }
  template <class Condition>
  void until(Condition holds) {
    run_until(*loop, holds);
  }

  std::unique_ptr<net::Loop> loop = make_loop();
  std::set<PeerId> linked{a, b, c};
  std::vector<std::pair<PeerId, wire::LinkMessage>> sent;
  bool has = false;
  std::vector<std::pair<wire::Holding, std::string>> asked_has;
  std::vector<std::pair<PeerId, wire::Hold>> holding;
  std::function<void(Status)> held;
  Result<std::vector<wire::Secret>> secrets = std::vector<wire::Secret>{{"K", "v"}};
  std::optional<Holders> holders;
  std::optional<std::vector<PeerId>> found;
  std::optional<Status> done;
};

HolderLimits never_silent() { return {seconds(60), seconds(60), seconds(600), seconds(60)}; }

}  // namespace

TEST_CASE("the keys of what is held say what they are of, and nothing else is taken for one") {
  const RequestId request{0x0102030405060708, 0xf0};
  CHECK(holding_key(request).size() == 16);
  CHECK(holding_key(request)[0] == '\x08');
  CHECK(request_of_key(holding_key(request)) == request);
  CHECK_FALSE(request_of_key("short"));
  CHECK(job_of_key(holding_key(JobId{12})) == JobId{12});
  CHECK_FALSE(job_of_key("12x"));
  CHECK_FALSE(job_of_key(""));
}

TEST_CASE("all linked peers are asked at once, and those that have it are told in their order") {
  Scene scene(never_silent());
  scene.find({});
  REQUIRE(scene.sent.size() == 3);
  CHECK(scene.sent_to<wire::DoYouHave>(0, a).key == "tree");
  scene.has_said(2, true);
  scene.has_said(0, false);
  CHECK_FALSE(scene.found);
  scene.has_said(1, true);
  CHECK(scene.found == std::vector<PeerId>{c, b});
}

TEST_CASE("the preferred peer comes first, and its yes is enough") {
  Scene scene(never_silent());
  scene.find(b);
  scene.has_said(2, true);
  CHECK_FALSE(scene.found);
  scene.has_said(1, true);
  CHECK(scene.found == std::vector<PeerId>{b, c});
}

TEST_CASE("who is silent, or whose link breaks, is not waited for for ever") {
  Scene scene({milliseconds(1), seconds(60), seconds(600), seconds(60)});
  scene.find({});
  scene.has_said(0, true);
  scene.until([&] { return scene.found.has_value(); });
  CHECK(scene.found == std::vector<PeerId>{a});
  scene.has_said(1, true);  // too late, and no harm
  Scene other(never_silent());
  other.find({});
  other.has_said(0, true);
  other.holders->link_lost(b);
  CHECK_FALSE(other.found);
  other.holders->link_lost(c);
  CHECK(other.found == std::vector<PeerId>{a});
}

TEST_CASE("without a linked peer nobody has it, which is not told from within the call") {
  Scene scene(never_silent());
  scene.linked.clear();
  scene.find({});
  CHECK_FALSE(scene.found);
  scene.until([&] { return scene.found.has_value(); });
  CHECK(scene.found->empty());
}

TEST_CASE("a second holder is the first candidate that holds it") {
  Scene scene(never_silent());
  scene.linked.erase(a);
  scene.hold({a, b, c});
  CHECK(scene.sent.empty());
  scene.until([&] { return scene.sent.size() == 1; });
  const auto asked = scene.sent_to<wire::Hold>(0, b);
  CHECK(asked.request == RequestId{7, 8});
  CHECK(asked.tree == "tree");
  CHECK(asked.secrets == std::vector<wire::Secret>{{"K", "v"}});
  scene.holders->take(c, wire::Held{asked.number, ""});  // not asked
  CHECK_FALSE(scene.done);
  scene.holders->take(b, wire::Held{asked.number, "its disk is full"});
  const auto again = scene.sent_to<wire::Hold>(1, c);
  CHECK_FALSE(scene.done);
  scene.holders->take(c, wire::Held{again.number, ""});
  REQUIRE(scene.done);
  CHECK(scene.done->ok());
}

TEST_CASE("when no candidate could, the last one's reason is told") {
  Scene scene(never_silent());
  scene.hold({b});
  scene.until([&] { return scene.sent.size() == 1; });
  scene.holders->take(b, wire::Held{scene.sent_to<wire::Hold>(0, b).number, "its disk is full"});
  REQUIRE(scene.done);
  CHECK(scene.done->error() == Error{Code::not_found, "its disk is full"});
  Scene alone(never_silent());
  alone.hold({});
  alone.until([&] { return alone.done.has_value(); });
  CHECK(alone.done->error().code == Code::not_found);
}

TEST_CASE("a candidate whose link breaks, or that is silent, is followed by the next") {
  Scene scene({seconds(60), milliseconds(1), seconds(600), seconds(60)});
  scene.hold({a, b});
  scene.until([&] { return scene.done.has_value(); });
  CHECK(scene.sent.size() == 2);
  CHECK(scene.done->error().message.find("in time") != std::string::npos);
  Scene other(never_silent());
  other.hold({a, b});
  other.until([&] { return other.sent.size() == 1; });
  other.holders->link_lost(a);
  other.sent_to<wire::Hold>(1, b);
}

TEST_CASE("a candidate that fetches is not waited for for ever") {
  Scene scene({seconds(60), seconds(60), Duration{}, seconds(60)});
  scene.hold({a});
  scene.until([&] { return scene.sent.size() == 1; });
  scene.holders->is_fetching(a);
  scene.until([&] { return scene.done.has_value(); });
  CHECK_FALSE(scene.done->ok());
}

TEST_CASE("secrets come from the first of the peers that has them") {
  Scene scene(never_silent());
  std::optional<Result<std::vector<wire::Secret>>> told;
  scene.holders->ask_secrets(
      {7, 8}, {a, b}, [&](Result<std::vector<wire::Secret>> found) { told = std::move(found); });
  scene.until([&] { return scene.sent.size() == 1; });
  const auto asked = scene.sent_to<wire::AskSecrets>(0, a);
  CHECK(asked.request == RequestId{7, 8});
  scene.holders->take(a, wire::SecretsAre{asked.number, false, {}});
  const auto again = scene.sent_to<wire::AskSecrets>(1, b);
  scene.holders->take(b, wire::SecretsAre{again.number, true, {{"K", "v"}}});
  REQUIRE(told);
  CHECK(told->value() == std::vector<wire::Secret>{{"K", "v"}});
}

TEST_CASE("what another peer asks is answered with its number, now or later") {
  Scene scene;
  scene.has = true;
  scene.holders->take(a, wire::DoYouHave{5, wire::Holding::output, "12"});
  CHECK(scene.asked_has.size() == 1);
  CHECK(scene.sent_to<wire::Has>(0, a) == wire::Has{5, true});
  scene.holders->take(b, wire::AskSecrets{6, {7, 8}});
  CHECK(scene.sent_to<wire::SecretsAre>(1, b) == wire::SecretsAre{6, true, {{"K", "v"}}});
  scene.secrets = Error{Code::not_found, "gone"};
  scene.holders->take(b, wire::AskSecrets{7, {7, 8}});
  CHECK(scene.sent_to<wire::SecretsAre>(2, b) == wire::SecretsAre{7, false, {}});
  scene.holders->take(c, wire::Hold{8, {7, 8}, "tree", {}});
  CHECK(scene.sent.size() == 3);
  REQUIRE(scene.holding.size() == 1);
  CHECK(scene.holding[0].first == c);
  scene.held(success());
  CHECK(scene.sent_to<wire::Held>(3, c) == wire::Held{8, ""});
  scene.held(Error{Code::io, ""});
  CHECK_FALSE(scene.sent_to<wire::Held>(4, c).failed.empty());
}

TEST_CASE("what is of the link alone is passed over, and what is told may end this") {
  Scene scene(never_silent());
  scene.holders->take(a, wire::Ping{1});
  CHECK(scene.sent.empty());
  scene.holders->hold({}, "", {}, {a}, [&](const Status&) { scene.holders.reset(); });
  scene.until([&] { return scene.sent.size() == 1; });
  scene.holders->take(a, wire::Held{scene.sent_to<wire::Hold>(0, a).number, ""});
  CHECK_FALSE(scene.holders);
}
