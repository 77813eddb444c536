#include "get_report.h"

#include <sys/stat.h>

#include "gpl/client/kept_files.h"
#include "gpl/core/size.h"
#include "gpl/posix/clock.h"
#include "output.h"

namespace gpl::cmd {
namespace {

// Changed here after the run had started: bringing back the run's would lose that change.
bool changed_here(const std::string& target, const artifact::Entry& file, std::int64_t started_ms) {
  struct stat status;
  if (::lstat((target + "/" + file.path).c_str(), &status) != 0) return false;
  const std::int64_t mtime_ns = posix::to_ns(status.st_mtim);
  return mtime_ns / 1'000'000 > started_ms && mtime_ns != file.mtime_ns;
}

}  // namespace

std::string target_of(const GetWish& wish, bool several, JobId job) {
  const std::string target = wish.into.empty() ? "." : wish.into;
  return several ? target + "/" + std::to_string(job.value) : target;
}

bool takes(const GetWish& wish, const artifact::Entry& file, const std::string& target,
           std::int64_t started_ms, bool& failed) {
  if (!wish.patterns.empty() && !client::matches_any(wish.patterns, file.path)) return false;
  if (wish.force || !changed_here(target, file, started_ms)) return true;
  complain("get: " + file.path + " was changed here since the run began; --force replaces it");
  failed = true;
  return false;
}

void say_got(const GotJob& got) {
  std::string line =
      "job " + std::to_string(got.job.value) + " (" + printable(shell_words(got.command)) + "): ";
  for (std::size_t i = 0; i < got.files.size(); ++i) {
    if (i == 10) {
      line += ", and " + std::to_string(got.files.size() - i) + " more";
      break;
    }
    if (i > 0) line += ", ";
    line += printable(got.files[i].path) + " " + format_file_size(got.files[i].size_bytes);
  }
  complain(line);
}

int finish_get(const GetWish& wish, const std::vector<GotJob>& got, bool failed) {
  std::size_t written = 0;
  Json jobs = Json::array();
  for (const GotJob& job : got) {
    written += job.files.size();
    Json list = Json::array();
    for (const artifact::Entry& file : job.files) list.push_back(file_json(file));
    jobs.push_back({{"job", job.job.value}, {"files", std::move(list)}});
  }
  if (written == 0 && !failed) {
    complain("get: the job kept no file that matches");
    return 1;
  }
  if (wish.as_json) {
    if (const int code = print(to_text({{"schema", 1}, {"jobs", jobs}})); code != 0) return code;
  }
  return failed ? 1 : 0;
}

}  // namespace gpl::cmd
