#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands.h"
#include "gpl/core/ascii.h"
#include "gpl/core/result.h"
#include "gpl/core/specifier.h"
#include "gpl/core/version.h"
#include "output.h"

namespace gpl::cmd {
namespace {

constexpr int exit_true = 0;
constexpr int exit_false = 1;
constexpr int exit_usage = 2;

// For the completions: this command takes its few words apart by itself.
constexpr OptionRow rows[] = {
    {"version", OptionRow::Kind::value, "V", "", "the version to look at"},
    {"json", OptionRow::Kind::flag, "", "", "print one object"},
    {"stdin", OptionRow::Kind::flag, "", "", "read lines of VERSION, a TAB, SPECIFIER"},
    {"help", OptionRow::Kind::flag, "", "", "print this"},
};

constexpr std::string_view help =
    R"(Say whether a Python package's version satisfies a specifier (PEP 440).

  gpl match '>=2.1,<3' --version 2.4.0+cu121
  printf '0.4.30\t~=0.4.1\n1.0rc1\t==1.0.*\n' | gpl match --stdin

Usage: gpl match SPECIFIER --version VERSION [--json]
       gpl match --stdin

  SPECIFIER        clauses between commas: ~= == != <= >= < > ===, and 1.0.* after == and !=.
                   Pre-releases count as any other version; an empty one takes every version.
  --version V      the version to look at
  --json           print {"schema":1,"specifier":...,"version":...,"match":true|false}
  --stdin          read lines of VERSION, a TAB, SPECIFIER (\t \n \\ for tab, newline, backslash)
                   and answer each with true, false, invalid-specifier or invalid-version
  -h, --help       print this

Exit: 0 true (--stdin: every line was answered), 1 false, 2 not a version, specifier or usage.
)";

struct MatchOptions {
  std::optional<std::string> specifier;
  std::optional<std::string> version;
  bool from_stdin = false;
  bool json = false;
  bool help = false;
};

Error usage_error(const std::string& what) {
  return Error{Code::invalid, "match: " + what + " (see gpl match --help)"};
}

Status keep_once(std::optional<std::string>& kept, const std::string& word,
                 const std::string& what) {
  if (kept)
    return usage_error(what + " is given twice: " + in_quotes(*kept) + ", " + in_quotes(word));
  kept = word;
  return success();
}

/// Whether the options make sense together.
Status check_options(const MatchOptions& options) {
  if (options.help) return success();
  if (options.from_stdin) {
    if (options.specifier || options.version || options.json) {
      return usage_error("--stdin takes neither SPECIFIER nor --version nor --json");
    }
    return success();
  }
  if (!options.specifier) return usage_error("no SPECIFIER to match against");
  if (!options.version) return usage_error("--version is missing: which version is to match?");
  return success();
}

Result<MatchOptions> parse_options(const std::vector<std::string>& args) {
  constexpr std::string_view version_is = "--version=";
  MatchOptions options;
  bool only_words = false;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& word = args[i];
    Status kept = success();
    if (only_words || !word.starts_with('-')) {
      kept = keep_once(options.specifier, word, "SPECIFIER");
    } else if (word == "--") {
      only_words = true;
    } else if (word == "--version") {
      if (++i == args.size()) return usage_error("--version needs a version after it");
      kept = keep_once(options.version, args[i], "--version");
    } else if (word.starts_with(version_is)) {
      kept = keep_once(options.version, word.substr(version_is.size()), "--version");
    } else if (word == "--stdin") {
      options.from_stdin = true;
    } else if (word == "--json") {
      options.json = true;
    } else if (word == "--help" || word == "-h") {
      options.help = true;
    } else {
      return usage_error("unknown option " + in_quotes(word));
    }
    if (!kept) return std::move(kept).error();
  }
  if (Status sensible = check_options(options); !sensible) return std::move(sensible).error();
  return options;
}

int complain(const std::string& message) {
  std::fprintf(stderr, "gpl: %s\n", message.c_str());
  return exit_usage;
}

// A result that nobody could read is neither true nor false.
int answer_with(std::string_view text, int code) {
  const int failed = print(text, exit_usage);
  return failed != 0 ? failed : code;
}

int match_one(const MatchOptions& options) {
  const auto specifiers = SpecifierSet::parse(*options.specifier);
  if (!specifiers) {
    return complain("match " + in_quotes(*options.specifier) + ": " + specifiers.error().message);
  }
  const auto version = Version::parse(*options.version);
  if (!version) return complain("match --version: " + version.error().message);

  const bool matches = specifiers.value().contains(version.value());
  std::string out = matches ? "true" : "false";
  if (options.json) {
    using Json = nlohmann::ordered_json;
    const Json answer = {{"schema", 1},
                         {"specifier", *options.specifier},
                         {"version", *options.version},
                         {"match", matches}};
    // After === any bytes may stand, and JSON holds none that are not UTF-8.
    out = answer.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return answer_with(out + "\n", matches ? exit_true : exit_false);
}

/// Undoes \t, \n and \\; any other backslash stands for itself.
std::string unescaped(std::string_view field) {
  std::string out;
  for (std::size_t i = 0; i < field.size(); ++i) {
    const char next = field[i] == '\\' && i + 1 < field.size() ? field[i + 1] : '\0';
    if (next == 't' || next == 'n' || next == '\\') {
      out += next == 't' ? '\t' : next == 'n' ? '\n' : '\\';
      ++i;
    } else {
      out += field[i];
    }
  }
  return out;
}

std::string_view answer(const std::string& version_text, const std::string& specifier_text) {
  const auto specifiers = SpecifierSet::parse(specifier_text);
  if (!specifiers) return "invalid-specifier\n";
  const auto version = Version::parse(version_text);
  if (!version) return "invalid-version\n";
  return specifiers.value().contains(version.value()) ? "true\n" : "false\n";
}

/// Answers lines as they come: a chunk of input, then `take_answers()` for what it completed.
class LineAnswers {
 public:
  /// The Error is of the first line that is none; the answers to those before it are kept.
  Status add(std::string_view chunk) {
    unfinished_ += chunk;
    std::size_t begin = 0;
    for (std::size_t end; (end = unfinished_.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      if (Status done = add_line(std::string_view(unfinished_).substr(begin, end - begin)); !done) {
        return done;
      }
    }
    unfinished_.erase(0, begin);
    if (unfinished_.size() > longest_line_bytes) return too_long();
    return success();
  }

  /// The end of the input: what has no newline is a line too.
  Status finish() { return unfinished_.empty() ? success() : add_line(unfinished_); }

  std::string take_answers() { return std::exchange(answers_, {}); }

 private:
  // Without a bound, a stream that has no newline would fill the memory.
  static constexpr std::size_t longest_line_bytes = std::size_t{1} << 20;

  Status too_long() const {
    return Error{Code::too_large, "match --stdin: line " + std::to_string(line_number_ + 1) +
                                      " is longer than 1 MiB: is this a list of versions?"};
  }

  Status add_line(std::string_view line) {
    if (line.size() > longest_line_bytes) return too_long();
    ++line_number_;
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) {
      return Error{Code::invalid,
                   "match --stdin: line " + std::to_string(line_number_) +
                       " has no TAB between version and specifier: " + in_quotes(line)};
    }
    answers_ += answer(unescaped(line.substr(0, tab)), unescaped(line.substr(tab + 1)));
    return success();
  }

  std::string unfinished_;
  std::string answers_;
  std::size_t line_number_ = 0;
};

int match_lines() {
  LineAnswers lines;
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return complain(std::string("match --stdin: cannot read: ") + strerror(errno));
    const Status added =
        got == 0 ? lines.finish() : lines.add({buffer.data(), static_cast<std::size_t>(got)});
    // Before the next read blocks: a program at the other end may wait for its answers.
    if (const int code = answer_with(lines.take_answers(), exit_true); code != exit_true)
      return code;
    if (!added) return complain(added.error().message);
    if (got == 0) return exit_true;
  }
}

}  // namespace

std::span<const OptionRow> match_options() { return rows; }

int match_command(const Invocation& invocation) {
  const auto options = parse_options(invocation.args);
  if (!options) return complain(options.error().message);
  if (options.value().help) return answer_with(help, exit_true);
  return options.value().from_stdin ? match_lines() : match_one(options.value());
}

}  // namespace gpl::cmd
