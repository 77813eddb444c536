#include "gpl/host/framework_check.h"

#include <fcntl.h>

#include "gpl/host/probe_process.h"
#include "gpl/host/record.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/file.h"

namespace gpl::host {
namespace {

constexpr std::size_t max_record_bytes = 1U << 20;

// A job inherits these of its caller; a library path is what makes a driver's libraries found.
bool is_passed_on(const std::string& entry) {
  for (const char* name : {"PATH=", "HOME=", "LANG=", "LD_LIBRARY_PATH="}) {
    if (entry.starts_with(name)) return true;
  }
  return false;
}

// The shell only sets the limit and becomes the program.
Command limited(std::vector<std::string> words, const std::vector<std::string>& inherited) {
  Command command;
  const std::string kib = std::to_string(framework_probe_memory_bytes / 1024);
  command.argv = {"/bin/sh", "-c", "ulimit -d " + kib + " && exec \"$@\"", "sh"};
  command.argv.insert(command.argv.end(), words.begin(), words.end());
  for (const std::string& entry : inherited) {
    if (is_passed_on(entry)) command.environment.push_back(entry);
  }
  command.working_folder = "/";
  return command;
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const std::size_t begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
}

std::string describe(const ProbeAnswer& answer) {
  switch (answer.ending) {
    case ProbeAnswer::Ending::timed_out:
      return "timed out after " + format_short(milliseconds(framework_probe_deadline_ms));
    case ProbeAnswer::Ending::signalled:
      return "ended by signal " + std::to_string(answer.number);
    case ProbeAnswer::Ending::too_much_output:
      return "printed without end";
    case ProbeAnswer::Ending::not_started:
      return "its Python could not be started";
    case ProbeAnswer::Ending::exited:
      break;
  }
  return "exit " + std::to_string(answer.number) + ": " + last_line(answer.err);
}

FrameworkProbeAnswer to_answer(const ProbeAnswer& ran) {
  Result<FrameworkProbeAnswer> answer = parse_framework_probe(ran.out);
  if (answer.ok()) return std::move(answer).value();
  FrameworkProbeAnswer failed;
  failed.error = describe(ran);
  return failed;
}

// One file an environment and framework; the root's slashes cannot be in its name.
std::string file_name(const std::string& root, const std::string& framework) {
  std::string name;
  for (const char c : root) name += c == '/' ? '%' : c;
  return name.substr(name.size() > 200 ? name.size() - 200 : 0) + "," + framework;
}

Record to_record(const FrameworkCheck& check) {
  Record record;
  record.add("root", check.environment_root);
  record.add("framework", check.framework);
  record.add("at_ms", check.at.since_epoch_ms);
  record.add("version", check.answer.version);
  record.add("error", check.answer.error);
  for (const SeenDevice& device : check.answer.devices) {
    record.add("kind", name_of(device.kind));
    record.add("name", device.name);
    record.add("memory_bytes", device.memory_bytes ? std::to_string(*device.memory_bytes) : "");
  }
  return record;
}

FrameworkCheck from_record(const Record& record) {
  FrameworkCheck check;
  check.environment_root = record.get("root");
  check.framework = record.get("framework");
  check.at = Instant{record.number("at_ms")};
  check.answer.version = record.get("version");
  check.answer.error = record.get("error");
  const std::vector<std::string> kinds = record.all("kind");
  const std::vector<std::string> names = record.all("name");
  const std::vector<std::string> sizes = record.all("memory_bytes");
  for (std::size_t i = 0; i < kinds.size() && i < names.size() && i < sizes.size(); ++i) {
    const std::optional<AcceleratorKind> kind = accelerator_kind(kinds[i]);
    if (!kind) continue;
    Record size;
    size.add("bytes", sizes[i]);
    const std::int64_t bytes = size.number("bytes", -1);
    SeenDevice device{*kind, names[i], std::nullopt};
    if (bytes >= 0) device.memory_bytes = static_cast<std::uint64_t>(bytes);
    check.answer.devices.push_back(std::move(device));
  }
  return check;
}

}  // namespace

FrameworkCheck check_framework(const PythonEnvironment& environment, const FrameworkProbe& probe,
                               const std::vector<std::string>& inherited) {
  const ProbeRequest request{limited(framework_probe_command(environment.python, probe), inherited),
                             framework_probe_deadline_ms};
  FrameworkCheck check;
  check.environment_root = environment.root;
  check.framework = probe.name;
  check.answer = to_answer(run_probes({request}).front());
  check.at = posix::wall_clock();
  return check;
}

Status FrameworkChecks::keep(const FrameworkCheck& check) const {
  if (Status made = posix::make_folders(folder_, 0700); !made.ok()) return made;
  Result<posix::Fd> folder = posix::open_folder(folder_);
  if (!folder.ok()) return std::move(folder).error();
  return posix::replace_file_at(folder.value().get(),
                                file_name(check.environment_root, check.framework),
                                to_record(check).encode());
}

std::optional<FrameworkCheck> FrameworkChecks::last(const std::string& environment_root,
                                                    const std::string& framework) const {
  const std::string path = folder_ + "/" + file_name(environment_root, framework);
  Result<std::string> bytes = posix::read_file_at(AT_FDCWD, path, max_record_bytes);
  if (!bytes.ok()) return std::nullopt;
  const Result<Record> record = Record::decode(bytes.value());
  if (!record.ok()) return std::nullopt;
  FrameworkCheck check = from_record(record.value());
  const bool same = check.environment_root == environment_root && check.framework == framework;
  return same ? std::optional<FrameworkCheck>(std::move(check)) : std::nullopt;
}

}  // namespace gpl::host
