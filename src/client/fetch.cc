#include "gpl/client/fetch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <set>

#include "gpl/net/signals.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"
#include "gpl/posix/file.h"
#include "gpl/posix/tree.h"

namespace gpl::client {
namespace {

// A path that a peer gave, to be made in a folder of our own.
bool is_plain(const std::string& path) {
  if (path.empty() || path.front() == '/' || path.find('\0') != std::string::npos) return false;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

/// A folder beside where the files are to be, so that they are moved there in one step.
class Landing {
 public:
  static Result<Landing> make(const std::string& target) {
    std::string path = target + "/.gpl-part-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) {
      return posix::io_error("cannot write to the folder " + target);
    }
    return Landing(std::move(path));
  }
  Landing(Landing&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  Landing& operator=(Landing&&) = delete;
  ~Landing() {
    if (!path_.empty()) (void)posix::remove_tree_at(AT_FDCWD, path_);
  }
  const std::string& path() const { return path_; }

 private:
  explicit Landing(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// Brings one file after the other.
class Fetching {
 public:
  Fetching(Session& session, JobId job, const FetchProgress& progress)
      : session_(session), job_(job), progress_(progress) {}

  Status watch_signals() {
    Result<net::Signals> signals = net::Signals::create(session_.loop(), {SIGINT, SIGTERM, SIGHUP},
                                                        [this](int) { interrupted_ = true; });
    if (!signals.ok()) return std::move(signals).error();
    signals_.emplace(std::move(signals).value());
    return success();
  }

  /// Makes the file at the same path below `landing`.
  Status bring(const wire::ResultFile& file, const std::string& landing) {
    if (!is_plain(file.path)) return Error{Code::denied, "has no path that can be in a folder"};
    const std::string path = landing + "/" + file.path;
    const std::string folder = path.substr(0, path.rfind('/'));
    if (Status made = posix::make_folders(folder, 0700); !made.ok()) return made;
    Status brought = file.is_link ? bring_link(file, path) : bring_file(file, path);
    if (!brought.ok()) ::unlink(path.c_str());  // it may be what fills the disk
    return brought;
  }

 private:
  Result<wire::FilePiece> piece(const wire::ResultFile& file, std::uint64_t offset) {
    std::optional<wire::Answer> answer;
    const std::uint32_t number =
        session_.ask(wire::FetchFile{job_, file.task, file.path, offset, wire::piece_limit_bytes},
                     [&](wire::Answer&& told) { answer.emplace(std::move(told)); });
    Status waited = session_.run_until([&] { return answer || interrupted_; });
    session_.forget(number);
    if (!waited.ok()) return std::move(waited).error();
    if (interrupted_) return Error{Code::busy, "was not brought: interrupted"};
    if (auto* piece = std::get_if<wire::FilePiece>(&*answer)) return std::move(*piece);
    if (const auto* refused = std::get_if<wire::Refused>(&*answer)) {
      return Error{Code::io, "cannot be brought: " + refused->message};
    }
    return Error{Code::io, "cannot be brought: the peer's answer is of another kind"};
  }

  Status bring_link(const wire::ResultFile& file, const std::string& path) {
    Result<wire::FilePiece> target = piece(file, 0);
    if (!target.ok()) return std::move(target).error();
    if (::symlink(target.value().data.c_str(), path.c_str()) != 0) {
      return posix::io_error("cannot be written");
    }
    return success();
  }

  Status bring_file(const wire::ResultFile& file, const std::string& path) {
    const posix::Fd to(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!to.valid()) return posix::io_error("cannot be written");
    std::uint64_t offset = 0;
    for (bool last = false; !last;) {
      Result<wire::FilePiece> got = piece(file, offset);
      if (!got.ok()) return std::move(got).error();
      last = got.value().last;
      if (!last && got.value().data.empty()) {
        return Error{Code::io, "cannot be brought: the peer sent a piece of no bytes"};
      }
      if (Status put = posix::write_all(to.get(), got.value().data); !put.ok()) {
        return Error{put.error().code, "cannot be written: " + put.error().message};
      }
      offset += got.value().data.size();
      if (progress_) progress_(file, offset);
    }
    const timespec times[] = {{0, UTIME_OMIT}, posix::to_timespec(file.mtime_ns)};
    if (::fchmod(to.get(), file.mode & 0777U) != 0 || ::futimens(to.get(), times) != 0) {
      return posix::io_error("cannot be written");
    }
    return success();
  }

  Session& session_;
  JobId job_;
  const FetchProgress& progress_;
  std::optional<net::Signals> signals_;
  bool interrupted_ = false;
};

}  // namespace

Result<wire::Results> ask_results(Session& session, JobId job) {
  return session.ask_for<wire::Results>(wire::AskResults{job, std::nullopt});
}

artifact::Entry entry_of(const wire::ResultFile& file) {
  artifact::Entry entry;
  entry.path = file.path;
  entry.type = file.is_link     ? artifact::EntryType::symlink
               : file.is_folder ? artifact::EntryType::directory
                                : artifact::EntryType::file;
  entry.mode = file.mode & 0777U;
  entry.size_bytes = file.size_bytes;
  entry.mtime_ns = file.mtime_ns;
  return entry;
}

Result<artifact::Delivered> fetch_files(Session& session, JobId job,
                                        const std::vector<wire::ResultFile>& files,
                                        const std::string& target, const FetchProgress& progress) {
  Result<Landing> landing = Landing::make(target);
  if (!landing.ok()) return std::move(landing).error();
  const std::string& from = landing.value().path();
  Fetching fetching(session, job, progress);
  if (Status watched = fetching.watch_signals(); !watched.ok()) return std::move(watched).error();
  artifact::Delivered delivered;
  for (const wire::ResultFile& file : files) {
    if (file.is_folder) continue;  // made with what is in it
    artifact::Entry entry = entry_of(file);
    Status brought = fetching.bring(file, from);
    if (!brought.ok()) {
      delivered.failed.push_back({std::move(entry), brought.error().message});
      continue;
    }
    Result<artifact::Delivered> put =
        artifact::deliver(from, {entry}, target, artifact::Handover::move);
    if (!put.ok()) return put;
    for (artifact::Entry& done : put.value().done) delivered.done.push_back(std::move(done));
    for (artifact::Undelivered& failed : put.value().failed) {
      delivered.failed.push_back(std::move(failed));
      ::unlink((from + "/" + file.path).c_str());
    }
  }
  return delivered;
}

Status forget_files(Session& session, JobId job, const std::vector<wire::ResultFile>& files,
                    const std::vector<artifact::Entry>& brought) {
  std::set<std::string> paths;
  for (const artifact::Entry& entry : brought) paths.insert(entry.path);
  std::map<TaskId, std::vector<std::string>> of_tasks;
  for (const wire::ResultFile& file : files) {
    if (paths.contains(file.path)) of_tasks[file.task].push_back(file.path);
  }
  for (auto& [task, list] : of_tasks) {
    Status done = session.do_it(wire::ForgetFiles{job, task, std::move(list)});
    if (!done.ok()) return done;
  }
  return success();
}

}  // namespace gpl::client
