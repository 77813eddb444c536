#include "name_lookup.h"

#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "gpl/net/address.h"
#include "gpl/posix/fd.h"

namespace gpl::peer {

struct NameLookup::Answer {
  std::mutex mutex;
  Result<std::vector<std::string>> addresses = Error{Code::not_found, "nobody was asked"};
};

NameLookup::NameLookup(net::Loop& loop, std::string host, Done done)
    : answer_(std::make_shared<Answer>()), done_(std::move(done)) {
  Status begun = begin(loop, std::move(host));
  if (begun.ok()) return;
  watch_.cancel();
  answer_->addresses = std::move(begun).error();
  failed_ = loop.after(Duration{}, [this] { take(); });
}

Status NameLookup::begin(net::Loop& loop, std::string host) {
  Result<posix::Pipe> pipe = posix::make_pipe();
  if (!pipe.ok()) return pipe.error();
  ended_ = std::move(pipe.value().read);
  auto watch = loop.watch(ended_.get(), [this] { take(); });
  if (!watch.ok()) return watch.error();
  watch_ = std::move(watch).value();
  try {
    std::thread([answer = answer_, host = std::move(host),
                 ending = std::move(pipe.value().write)]() mutable {
      auto found = net::resolve(host);
      {
        const std::lock_guard lock(answer->mutex);
        answer->addresses = std::move(found);
      }
      ending.reset();
    }).detach();
  } catch (const std::system_error& error) {
    return Error{Code::io, std::string("cannot begin a thread: ") + error.what()};
  }
  return success();
}

void NameLookup::take() {
  watch_.cancel();
  const std::shared_ptr<Answer> answer = answer_;
  const Done done = std::move(done_);
  std::unique_lock lock(answer->mutex);
  auto addresses = std::move(answer->addresses);
  lock.unlock();
  done(std::move(addresses));
}

}  // namespace gpl::peer
