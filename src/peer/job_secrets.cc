#include "gpl/peer/job_secrets.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <optional>
#include <string_view>

#include "gpl/host/record.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"
#include "gpl/posix/fd.h"
#include "gpl/posix/file.h"
#include "gpl/posix/listing.h"

namespace gpl::peer {
namespace {

constexpr std::size_t most_bytes = std::size_t{16} << 20U;
constexpr std::size_t half_digits = 16;
/// What is in front of sealed values. A file without it is of a gpl that did not seal them.
constexpr std::string_view sealed_format = "gpl sealed secrets 1\n";
/// The same of any version.
constexpr std::string_view sealed_formats = "gpl sealed secrets ";

std::string name_of(const RequestId& request) {
  char name[2 * half_digits + 1];
  std::snprintf(name, sizeof name, "%016llx%016llx", static_cast<unsigned long long>(request.high),
                static_cast<unsigned long long>(request.low));
  return name;
}

std::optional<RequestId> request_of(const std::string& name) {
  if (name.size() != 2 * half_digits) return std::nullopt;
  RequestId request;
  const char* middle = name.data() + half_digits;
  const auto high = std::from_chars(name.data(), middle, request.high, 16);
  const auto low = std::from_chars(middle, name.data() + name.size(), request.low, 16);
  if (high.ptr != middle || low.ptr != name.data() + name.size()) return std::nullopt;
  return request;
}

Result<std::vector<wire::Secret>> decode(std::string_view bytes) {
  const Result<host::Record> record = host::Record::decode(bytes);
  if (!record.ok()) return record.error();
  std::vector<wire::Secret> secrets;
  for (const auto& [name, value] : record.value().pairs()) secrets.push_back({name, value});
  return secrets;
}

}  // namespace

Status JobSecrets::keep(const RequestId& request, const std::vector<wire::Secret>& secrets) const {
  if (secrets.empty()) return success();
  if (Status made = posix::make_folders(folder_, 0700); !made.ok()) return made;
  Result<posix::Fd> folder = posix::open_folder(folder_);
  if (!folder.ok()) return std::move(folder).error();
  host::Record record;
  for (const wire::Secret& secret : secrets) record.add(secret.name, secret.value);
  return posix::replace_file_at(
      folder.value().get(), name_of(request),
      std::string(sealed_format) + auth::seal(record.encode(), own_.public_half),
      posix::Durability::synced);
}

Result<std::vector<wire::Secret>> JobSecrets::find(const RequestId& request) const {
  const Result<std::string> bytes =
      posix::read_file_at(AT_FDCWD, folder_ + "/" + name_of(request), most_bytes);
  if (!bytes.ok()) return bytes.error();
  std::string_view content = bytes.value();
  if (content.starts_with(sealed_format)) {
    content.remove_prefix(sealed_format.size());
    const Result<std::string> plain = auth::unseal(content, own_);
    return plain.ok() ? decode(plain.value()) : Result<std::vector<wire::Secret>>(plain.error());
  }
  if (content.starts_with(sealed_formats))
    return Error{Code::unsupported, "a newer gpl has sealed them"};
  Result<std::vector<wire::Secret>> plain = decode(content);
  // They need not be read as they are twice. If that fails, there is another time.
  if (plain.ok()) (void)keep(request, plain.value());
  return plain;
}

bool JobSecrets::has(const RequestId& request) const {
  return ::access((folder_ + "/" + name_of(request)).c_str(), F_OK) == 0;
}

void JobSecrets::remove(const RequestId& request) const {
  (void)::unlink((folder_ + "/" + name_of(request)).c_str());
}

std::vector<RequestId> JobSecrets::list(Duration age) const {
  std::vector<RequestId> requests;
  Result<posix::Fd> folder = posix::open_folder(folder_);
  if (!folder.ok()) return requests;
  Result<std::vector<std::string>> names = posix::names_in(folder.value().get());
  if (!names.ok()) return requests;
  const std::int64_t now_ms = posix::wall_clock().since_epoch_ms;
  for (const std::string& name : names.value()) {
    const auto request = request_of(name);
    struct stat status;
    if (!request || ::fstatat(folder.value().get(), name.c_str(), &status, 0) != 0) continue;
    if (now_ms - std::int64_t{status.st_mtim.tv_sec} * 1000 >= age.count_ms)
      requests.push_back(*request);
  }
  return requests;
}

}  // namespace gpl::peer
