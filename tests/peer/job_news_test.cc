#include "gpl/peer/job_news.h"

#include <doctest/doctest.h>

#include <optional>

using namespace gpl;
using namespace gpl::peer;

namespace {

struct Scene {
  std::unique_ptr<net::Loop> loop = net::Loop::create().value();
  std::optional<JobNews> news{std::in_place, *loop};
  /// In a turn of the loop, which has an end.
  void turn(std::function<void()> task) {
    loop->post(std::move(task));
    while (loop->run_one(milliseconds(0))) {
    }
  }
};

}  // namespace

TEST_CASE("who waits for a job hears of it once a turn, whatever happens in it") {
  Scene scene;
  int heard = 0;
  const auto subscription = scene.news->subscribe({5}, [&] { ++heard; });
  scene.turn([&] {
    scene.news->changed({5});
    scene.news->changed({5});
    scene.news->changed({6});
    CHECK(heard == 0);
  });
  CHECK(heard == 1);
}

TEST_CASE("a subscription that has ended hears nothing, also when another one ends it") {
  Scene scene;
  int heard = 0;
  std::optional<JobNews::Subscription> second;
  const auto first = scene.news->subscribe({5}, [&] { second.reset(); });
  second.emplace(scene.news->subscribe({5}, [&] { ++heard; }));
  scene.turn([&] { scene.news->changed({5}); });
  CHECK(heard == 0);
}

TEST_CASE("a subscription may outlive the news") {
  Scene scene;
  int heard = 0;
  const auto subscription = scene.news->subscribe({5}, [&] { ++heard; });
  scene.turn([&] {
    scene.news->all_changed();
    scene.news.reset();
  });
  CHECK(heard == 0);
}

TEST_CASE("everybody can be told at once") {
  Scene scene;
  int heard = 0;
  const auto first = scene.news->subscribe({5}, [&] { ++heard; });
  const auto second = scene.news->subscribe({6}, [&] { ++heard; });
  scene.turn([&] { scene.news->all_changed(); });
  CHECK(heard == 2);
}
