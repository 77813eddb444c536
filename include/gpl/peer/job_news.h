#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "gpl/core/id.h"
#include "gpl/net/loop.h"

namespace gpl::peer {

/// Tells those who wait for a job that something of it has changed: at the end of the turn, once
/// for all that happened in it.
class JobNews {
 public:
  using Heard = std::function<void()>;

  /// Ends the subscription when it is dropped. It may outlive the JobNews.
  class Subscription {
   public:
    Subscription() = default;
    Subscription(Subscription&&) noexcept = default;
    Subscription& operator=(Subscription&&) noexcept;
    ~Subscription();

   private:
    friend class JobNews;
    struct Book;
    Subscription(std::weak_ptr<Book> book, JobId job, std::uint64_t number)
        : book_(std::move(book)), job_(job), number_(number) {}
    void end();

    std::weak_ptr<Book> book_;
    JobId job_;
    std::uint64_t number_ = 0;
  };

  explicit JobNews(net::Loop& loop);
  ~JobNews();

  [[nodiscard]] Subscription subscribe(JobId job, Heard heard);
  void changed(JobId job);
  /// Of every job that somebody waits for.
  void all_changed();

 private:
  void tell_at_end_of_turn();

  net::Loop& loop_;
  std::shared_ptr<Subscription::Book> book_;
};

}  // namespace gpl::peer
