#include <algorithm>
#include <tuple>

#include "commands.h"
#include "gpl/client/text_table.h"
#include "gpl/host/set_up_check.h"
#include "gpl/host/user.h"
#include "gpl/posix/clock.h"
#include "json.h"
#include "option_table.h"
#include "output.h"
#include "session.h"
#include "terminal.h"

namespace gpl::cmd {
namespace {

using Kind = OptionRow::Kind;
using Row = wire::HealthRow;
using Level = wire::HealthRow::Level;

constexpr OptionRow rows[] = {
    {"json", Kind::flag, "", "Options:", "print one object"},
    {"quiet", Kind::flag, "", "Options:", "print just what is not ok"},
    {"help", Kind::flag, "", "Options:", "print this"},
};

constexpr const char* help_head =
    R"(Say what is wrong with this set-up, and what to do about it.

  gpl doctor
  gpl doctor --quiet && echo all is well

Usage: gpl doctor [OPTIONS]

Looks at the configuration, the folders, the clock, and, where a peer runs on this machine, at
that: its keeper, its log, its devices. Exit: 0 nothing fails, 1 something does; 2 usage.
)";

int usage_error(const std::string& message) {
  complain("doctor: " + message);
  return 2;
}

std::string_view name_of(Level level) {
  switch (level) {
    case Level::ok:
      return "ok";
    case Level::warn:
      return "warn";
    case Level::fail:
      return "fail";
  }
  return "";
}

std::string_view colour_of(Level level) {
  switch (level) {
    case Level::ok:
      return "\x1b[32m";
    case Level::warn:
      return "\x1b[33m";
    case Level::fail:
      return "\x1b[31m";
  }
  return "";
}

void add(const std::vector<host::Finding>& findings, std::vector<Row>& rows_found) {
  for (const host::Finding& finding : findings)
    rows_found.push_back({static_cast<Level>(finding.level), finding.subject, finding.text});
}

/// What the peer says, and that it answers; of a machine without one what this process finds.
std::vector<Row> look(const client::Voice& voice) {
  std::vector<Row> found;
  Result<host::Folders> folders = host::user_folders();
  if (!folders.ok()) return {{Level::fail, "folders", folders.error().message}};
  client::ClusterChoice choice;
  choice.version = GPL_VERSION;
  choice.only_here = true;
  Result<std::unique_ptr<client::Session>> session =
      client::find_cluster(choice, folders.value(), voice);
  std::optional<Error> trouble;
  if (!session.ok()) {
    trouble = session.error();
  } else if (session.value() != nullptr) {
    Result<wire::Health> health = session.value()->ask_for<wire::Health>(wire::AskHealth{});
    if (health.ok())
      found = std::move(health.value().rows);
    else
      trouble = health.error();
  }
  const bool answers = !found.empty();
  if (!answers) {
    add({host::check_disk(folders.value().state)}, found);
    add(host::check_process(host::current_user(), posix::wall_clock()), found);
  }
  add(host::check_set_up(folders.value(), answers), found);
  if (trouble) {
    // It says more than that none answers.
    std::erase_if(found, [](const Row& row) { return row.subject == "peer"; });
    found.push_back({Level::fail, "peer", trouble->message});
  }
  return found;
}

std::string as_text(const std::vector<Row>& found) {
  std::size_t width = 0;
  for (const Row& row : found) width = std::max(width, client::shown_width(printable(row.subject)));
  const std::size_t indent = 4 + 2 + width + 2;
  const std::optional<std::size_t> columns = terminal_width();
  const bool coloured = takes_colour();
  std::string text;
  for (const Row& row : found) {
    const std::string level(name_of(row.level));
    const std::string subject = printable(row.subject);
    text += coloured ? std::string(colour_of(row.level)) + level + "\x1b[0m" : level;
    text += std::string(6 - level.size(), ' ') + subject;
    text += std::string(width - client::shown_width(subject) + 2, ' ');
    // Too narrow a terminal for a column of text breaks it by itself.
    const bool wraps = columns && *columns >= indent + 20;
    text += (wraps ? client::wrapped(printable(row.text), indent, *columns) : printable(row.text)) +
            "\n";
  }
  return text;
}

std::string as_json(const std::vector<Row>& found, bool fine) {
  Json list = Json::array();
  for (const Row& row : found)
    list.push_back({{"level", name_of(row.level)}, {"subject", row.subject}, {"text", row.text}});
  return to_text({{"schema", 1}, {"fine", fine}, {"rows", std::move(list)}});
}

}  // namespace

std::span<const OptionRow> doctor_options() { return rows; }

int doctor_command(const Invocation& invocation) {
  Result<ParsedOptions> options = parse_mixed_options(rows, invocation.args);
  if (!options.ok()) return usage_error(options.error().message);
  if (options.value().has("help")) return print(help_head + describe_options(rows));
  if (!options.value().rest.empty())
    return usage_error("takes no words: " + shell_words(options.value().rest));
  std::vector<Row> found = look(client::Voice(options.value().has("quiet")));
  const bool fine = std::none_of(found.begin(), found.end(),
                                 [](const Row& row) { return row.level == Level::fail; });
  if (options.value().has("quiet"))
    std::erase_if(found, [](const Row& row) { return row.level == Level::ok; });
  const auto order = [](const Row& row) { return std::tie(row.subject, row.level, row.text); };
  std::sort(found.begin(), found.end(),
            [&](const Row& a, const Row& b) { return order(a) < order(b); });
  const int shown = print(options.value().has("json") ? as_json(found, fine) : as_text(found));
  if (shown != 0) return shown;
  return fine ? 0 : 1;
}

}  // namespace gpl::cmd
