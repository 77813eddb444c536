#include "gpl/peer/job_secrets.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>

#include "gpl/host/record.h"
#include "gpl/posix/error.h"
#include "gpl/posix/fd.h"
#include "gpl/posix/file.h"
#include "gpl/posix/listing.h"

namespace gpl::peer {
namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 20U;
constexpr std::size_t half_digits = 16;

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

}  // namespace

Status JobSecrets::keep(const RequestId& request, const std::vector<wire::Secret>& secrets) const {
  if (secrets.empty()) return success();
  if (Status made = posix::make_folders(folder_, 0700); !made.ok()) return made;
  Result<posix::Fd> folder = posix::open_folder(folder_);
  if (!folder.ok()) return std::move(folder).error();
  host::Record record;
  for (const wire::Secret& secret : secrets) record.add(secret.name, secret.value);
  return posix::replace_file_at(folder.value().get(), name_of(request), record.encode(),
                                posix::Durability::synced);
}

Result<std::vector<wire::Secret>> JobSecrets::find(const RequestId& request) const {
  Result<std::string> bytes =
      posix::read_file_at(AT_FDCWD, folder_ + "/" + name_of(request), most_bytes);
  if (!bytes.ok()) return std::move(bytes).error();
  Result<host::Record> record = host::Record::decode(bytes.value());
  if (!record.ok()) return std::move(record).error();
  std::vector<wire::Secret> secrets;
  for (const auto& [name, value] : record.value().pairs()) secrets.push_back({name, value});
  return secrets;
}

void JobSecrets::remove(const RequestId& request) const {
  (void)::unlink((folder_ + "/" + name_of(request)).c_str());
}

std::vector<RequestId> JobSecrets::list() const {
  std::vector<RequestId> requests;
  Result<posix::Fd> folder = posix::open_folder(folder_);
  if (!folder.ok()) return requests;
  Result<std::vector<std::string>> names = posix::names_in(folder.value().get());
  if (!names.ok()) return requests;
  for (const std::string& name : names.value())
    if (const auto request = request_of(name)) requests.push_back(*request);
  return requests;
}

}  // namespace gpl::peer
