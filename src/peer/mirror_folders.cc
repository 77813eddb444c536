#include "mirror_folders.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <utility>

#include "gpl/host/record.h"
#include "gpl/host/skipped_output.h"
#include "gpl/peer/staged_attempt.h"
#include "gpl/posix/error.h"
#include "gpl/posix/fd.h"
#include "gpl/posix/file.h"
#include "gpl/posix/listing.h"
#include "gpl/posix/tree.h"
#include "gpl/wire/codec.h"

namespace gpl::peer {
namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 20U;
constexpr const char* about_file = "about";
constexpr const char* over_file = "over";
constexpr const char* removed_prefix = "removed-";
constexpr std::array<const char*, 2> stream_files = {"stdout", "stderr"};

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size())
    return std::nullopt;
  return number;
}

std::string encode(const MirrorSubject& subject) {
  host::Record record;
  record.add("job", std::to_string(subject.job.value));
  record.add("task", std::to_string(subject.task.value));
  record.add("peer", std::to_string(subject.worker.value));
  return record.encode();
}

Result<MirrorSubject> subject_in(int folder, const Fence& fence) {
  const Result<std::string> bytes = posix::read_file_at(folder, about_file, most_bytes);
  if (!bytes.ok()) return bytes.error();
  const Result<host::Record> record = host::Record::decode(bytes.value());
  if (!record.ok()) return record.error();
  const auto job = number_of(record.value().get("job"));
  const auto task = number_of(record.value().get("task"));
  const auto peer = number_of(record.value().get("peer"));
  if (!job || !task || !peer)
    return Error{Code::invalid, "a copy of an output does not say whose it is"};
  return MirrorSubject{fence, JobId{*job}, TaskId{*task}, PeerId{*peer}};
}

}  // namespace

std::string MirrorFolders::path_of(const Fence& fence) const {
  return path_ + "/" + StagedAttempt::name_of(fence);
}

Result<host::KeptOutput> MirrorFolders::open(const MirrorSubject& subject,
                                             std::uint64_t cap_bytes) const {
  const std::string path = path_of(subject.fence);
  if (Status made = posix::make_folders(path, 0700); !made.ok()) return std::move(made).error();
  const Result<posix::Fd> folder = posix::open_folder(path);
  if (!folder.ok()) return folder.error();
  const int at = folder.value().get();
  if (::faccessat(at, about_file, F_OK, 0) != 0) {
    if (Status said = posix::replace_file_at(at, about_file, encode(subject)); !said.ok())
      return std::move(said).error();
  }
  return host::KeptOutput::go_on(at, cap_bytes);
}

Result<MirrorFolders::Found> MirrorFolders::look(const std::string& name) const {
  const auto fence = StagedAttempt::fence_of(name);
  if (!fence) return Error{Code::invalid, "no copy of an output"};
  const Result<posix::Fd> folder = posix::open_folder(path_ + "/" + name);
  if (!folder.ok()) return folder.error();
  const int at = folder.value().get();
  Result<MirrorSubject> subject = subject_in(at, *fence);
  if (!subject.ok()) return std::move(subject).error();
  const Result<host::SkippedOutput> skipped = host::read_skipped(at);
  if (!skipped.ok()) return skipped.error();
  Found found{subject.value(), {}, std::nullopt};
  for (std::size_t i = 0; i < stream_files.size(); ++i) {
    struct stat file;
    if (::fstatat(at, stream_files.at(i), &file, AT_SYMLINK_NOFOLLOW) != 0) continue;
    found.bytes.at(i) =
        std::max(static_cast<std::uint64_t>(file.st_size), skipped.value().of.at(i).to);
  }
  const Result<std::string> over = posix::read_file_at(at, over_file, most_bytes);
  if (!over.ok()) return found;
  Result<wire::PeerMessage> message = wire::decode<wire::PeerMessage>(over.value());
  // One that cannot be read is asked for again.
  if (!message.ok()) return found;
  if (auto* said = std::get_if<wire::AttemptOver>(&message.value().body))
    found.over = std::move(*said);
  return found;
}

Result<std::vector<MirrorFolders::Found>> MirrorFolders::list(
    std::vector<std::string>& leftovers) const {
  std::vector<Found> all;
  if (Status made = posix::make_folders(path_, 0700); !made.ok()) return std::move(made).error();
  const Result<posix::Fd> folder = posix::open_folder(path_);
  if (!folder.ok()) return folder.error();
  const Result<std::vector<std::string>> names = posix::names_in(folder.value().get());
  if (!names.ok()) return names.error();
  for (const std::string& name : names.value()) {
    Result<Found> found = look(name);
    if (found.ok()) {
      all.push_back(std::move(found).value());
    } else {
      leftovers.push_back(name);
    }
  }
  return all;
}

Status MirrorFolders::complete(const host::KeptOutput& output, const MirrorSubject& subject,
                               const wire::AttemptOver& over) const {
  if (Status synced = output.sync(); !synced.ok()) return synced;
  const Result<posix::Fd> folder = posix::open_folder(path_of(subject.fence));
  if (!folder.ok()) return folder.error();
  // Not synced: after a power loss that takes it away the worker is asked once more.
  return posix::replace_file_at(folder.value().get(), over_file,
                                wire::encode(wire::PeerMessage{0, over}));
}

std::string MirrorFolders::move_away(const Fence& fence) const {
  const std::string name = removed_prefix + StagedAttempt::name_of(fence);
  if (::rename(path_of(fence).c_str(), (path_ + "/" + name).c_str()) == 0) return name;
  return errno == ENOENT ? std::string() : StagedAttempt::name_of(fence);
}

void MirrorFolders::remove(const std::string& name) const {
  const Result<posix::Fd> folder = posix::open_folder(path_);
  if (folder.ok()) (void)posix::remove_tree_at(folder.value().get(), name);
}

}  // namespace gpl::peer
