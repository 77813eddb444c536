#include "gpl/peer/job_news.h"

#include <utility>
#include <vector>

namespace gpl::peer {

struct JobNews::Subscription::Book {
  std::map<std::pair<JobId, std::uint64_t>, Heard> heard;
  std::set<JobId> changed;
  std::uint64_t last_number = 0;
  bool due = false;

  /// Who is told may end any subscription, its own too.
  void tell() {
    due = false;
    for (const JobId job : std::exchange(changed, {})) {
      std::vector<std::uint64_t> numbers;
      for (auto at = heard.lower_bound({job, 0}); at != heard.end() && at->first.first == job; ++at)
        numbers.push_back(at->first.second);
      for (const std::uint64_t number : numbers) {
        const auto at = heard.find({job, number});
        if (at == heard.end()) continue;
        const Heard call = at->second;
        call();
      }
    }
  }
};

JobNews::Subscription& JobNews::Subscription::operator=(Subscription&& other) noexcept {
  if (this != &other) {
    end();
    book_ = std::move(other.book_);
    job_ = other.job_;
    number_ = other.number_;
  }
  return *this;
}

JobNews::Subscription::~Subscription() { end(); }

void JobNews::Subscription::end() {
  if (const auto book = book_.lock()) book->heard.erase({job_, number_});
  book_.reset();
}

JobNews::JobNews(net::Loop& loop) : loop_(loop), book_(std::make_shared<Subscription::Book>()) {}

JobNews::~JobNews() = default;

JobNews::Subscription JobNews::subscribe(JobId job, Heard heard) {
  const std::uint64_t number = ++book_->last_number;
  book_->heard.emplace(std::pair(job, number), std::move(heard));
  return Subscription(book_, job, number);
}

void JobNews::changed(JobId job) {
  const auto at = book_->heard.lower_bound({job, 0});
  if (at == book_->heard.end() || at->first.first != job) return;
  book_->changed.insert(job);
  tell_at_end_of_turn();
}

void JobNews::all_changed() {
  for (const auto& [key, heard] : book_->heard) book_->changed.insert(key.first);
  if (!book_->changed.empty()) tell_at_end_of_turn();
}

void JobNews::tell_at_end_of_turn() {
  if (std::exchange(book_->due, true)) return;
  loop_.at_end_of_turn([weak = std::weak_ptr(book_)] {
    if (const auto book = weak.lock()) book->tell();
  });
}

}  // namespace gpl::peer
