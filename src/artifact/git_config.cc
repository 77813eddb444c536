#include "gpl/artifact/git_config.h"

#include <fcntl.h>

#include "gpl/artifact/file_text.h"
#include "gpl/artifact/glob.h"
#include "gpl/core/ascii.h"

namespace gpl::artifact {
namespace {

constexpr std::size_t config_limit_bytes = 64U << 20U;
constexpr int include_limit = 10;

bool is_alpha(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_key(int c) { return is_alpha(c) || (c >= '0' && c <= '9') || c == '-'; }
bool is_blank(int c) { return c == ' ' || c == '\t' || c == '\r'; }

/// A reader of one text, byte by byte; -1 at the end.
class Parser {
 public:
  Parser(std::string_view text, const std::function<Status(const GitConfigVariable&)>& take)
      : text_(text), take_(take) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
  }

  Status run() {
    for (int c = next(); c >= 0; c = next()) {
      if (c == '\n' || is_blank(c)) continue;
      if (c == '#' || c == ';') {
        skip_line();
      } else if (c == '[') {
        if (!read_section()) return broken();
      } else if (is_alpha(c) && !section_.empty()) {
        GitConfigVariable variable;
        if (!read_variable(c, variable)) return broken();
        if (auto taken = take_(variable); !taken) return taken;
      } else {
        return broken();
      }
    }
    return success();
  }

 private:
  Error broken() const {
    return {Code::invalid, "line " + std::to_string(line_) + " cannot be read"};
  }

  int peek() const { return at_ < text_.size() ? static_cast<unsigned char>(text_[at_]) : -1; }

  int next() {
    if (newline_) ++line_, newline_ = false;
    if (text_.substr(at_, 2) == "\r\n") ++at_;
    const int c = peek();
    if (c >= 0) ++at_;
    newline_ = c == '\n';
    return c;
  }

  void skip_line() {
    for (int c = next(); c >= 0 && c != '\n'; c = next()) {
    }
  }

  /// Behind '[': `name]`, or `name "subsection"]`; the old `name.subsection]` needs nothing of its
  /// own.
  bool read_section() {
    section_.clear();
    int c = next();
    for (; is_key(c) || c == '.'; c = next()) section_ += static_cast<char>(c);
    section_ = to_lower(section_);
    if (section_.empty()) return false;
    if (c == ']') return true;
    while (is_blank(c)) c = next();
    if (c != '"') return false;
    section_ += '.';
    for (c = next(); c != '"'; c = next()) {
      if (c == '\\') c = next();
      if (c < 0 || c == '\n') return false;
      section_ += static_cast<char>(c);
    }
    return next() == ']';
  }

  bool read_variable(int first, GitConfigVariable& variable) {
    std::string key(1, static_cast<char>(first));
    while (is_key(peek())) key += static_cast<char>(next());
    variable.name = section_ + "." + to_lower(key);
    int c = next();
    while (is_blank(c)) c = next();
    if (c == '\n' || c < 0) return true;
    if (c != '=') return false;
    variable.value.emplace();
    return read_value(*variable.value);
  }

  bool read_value(std::string& value) {
    bool quoted = false;
    std::size_t blanks = 0;
    for (int c = next(); c >= 0 && c != '\n'; c = next()) {
      if (!quoted && is_blank(c)) {
        if (!value.empty()) ++blanks;
        continue;
      }
      if (!quoted && (c == '#' || c == ';')) return skip_line(), true;
      value.append(blanks, ' ');
      blanks = 0;
      if (c == '"') {
        quoted = !quoted;
      } else if (c == '\\') {
        if (!read_escape(value)) return false;
      } else {
        value += static_cast<char>(c);
      }
    }
    return !quoted;
  }

  bool read_escape(std::string& value) {
    const int c = next();
    if (c == '\n') return true;
    if (c == 't') return value += '\t', true;
    if (c == 'b') return value += '\b', true;
    if (c == 'n') return value += '\n', true;
    if (c == '\\' || c == '"') return value += static_cast<char>(c), true;
    return false;
  }

  std::string_view text_;
  const std::function<Status(const GitConfigVariable&)>& take_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  bool newline_ = false;
  std::string section_;
};

Result<bool> as_bool(const GitConfigVariable& variable) {
  if (!variable.value) return true;
  const std::string word = to_lower(*variable.value);
  if (word == "true" || word == "yes" || word == "on") return true;
  if (word.empty() || word == "false" || word == "no" || word == "off") return false;
  const bool number = word.find_first_not_of("0123456789kmg+-") == std::string::npos;
  if (!number)
    return Error{Code::invalid,
                 variable.name + " is '" + word + "', which is neither true nor false"};
  return word.find_first_of("123456789") != std::string::npos;
}

Status set_bool(bool& to, const GitConfigVariable& variable) {
  const auto value = as_bool(variable);
  if (!value) return value.error();
  to = value.value();
  return success();
}

}  // namespace

Status parse_git_config(std::string_view text,
                        const std::function<Status(const GitConfigVariable&)>& take) {
  return Parser(text, take).run();
}

Status GitConfigReader::read_person() {
  if (!home_.system_config.empty())
    if (auto read = read_file(home_.system_config); !read) return read;
  if (!home_.global_config.empty()) return read_file(home_.global_config);
  if (!home_.xdg_config_home.empty() || !home_.home.empty()) {
    const std::string base =
        home_.xdg_config_home.empty() ? home_.home + "/.config" : home_.xdg_config_home;
    if (auto read = read_file(base + "/git/config"); !read) return read;
  }
  return home_.home.empty() ? success() : read_file(home_.home + "/.gitconfig");
}

Status GitConfigReader::read_file(const std::string& path, int depth) {
  const auto text = read_file_text(AT_FDCWD, path.c_str(), config_limit_bytes, true);
  if (!std::holds_alternative<std::string>(text)) return success();
  const auto taken = parse_git_config(
      std::get<std::string>(text),
      [&](const GitConfigVariable& variable) { return take(variable, path, depth); });
  if (taken || taken.error().message.starts_with("git configuration ")) return taken;
  return Error{taken.error().code,
               "git configuration " + path + ": " + taken.error().message +
                   "; git refuses it too, so mend the file (git config --edit shows it)"};
}

Status GitConfigReader::take(const GitConfigVariable& variable, const std::string& file,
                             int depth) {
  const std::string_view name = variable.name;
  if (name == "core.ignorecase") return set_bool(config.ignore_case, variable);
  if (name == "core.bare") return set_bool(config.bare, variable);
  if (name == "extensions.worktreeconfig") return set_bool(config.worktree_config, variable);
  if (!variable.value) return success();
  if (name == "core.excludesfile") config.excludes_file = expand(*variable.value, {});
  if (name == "core.worktree") config.work_tree = variable.value;
  if (name == "extensions.objectformat") config.object_format = to_lower(*variable.value);

  constexpr std::string_view conditional = "includeif.";
  const bool included =
      name == "include.path" ||
      (name.starts_with(conditional) && name.ends_with(".path") &&
       condition_holds(name.substr(0, name.size() - 5).substr(conditional.size()), file));
  if (!included) return success();
  if (depth >= include_limit)
    return Error{Code::invalid,
                 "includes go more than " + std::to_string(include_limit) + " files deep"};
  const auto path = expand(*variable.value, file);
  return path ? read_file(*path, depth + 1) : success();
}

/// `~/` is the home; other relative paths begin at the folder of `file`, where there is one.
/// `~name/` is nobody's.
std::optional<std::string> GitConfigReader::expand(const std::string& path,
                                                   const std::string& file) const {
  if (path.starts_with("~/"))
    return home_.home.empty() ? std::nullopt : std::optional(home_.home + path.substr(1));
  if (path.starts_with("~")) return std::nullopt;
  if (path.starts_with("/") || file.empty()) return path;
  return file.substr(0, file.rfind('/') + 1) + path;
}

/// git-config(1), "Conditional includes", keywords gitdir and gitdir/i.
bool GitConfigReader::condition_holds(std::string_view condition, const std::string& file) const {
  const bool fold_case = condition.starts_with("gitdir/i:");
  if (!fold_case && !condition.starts_with("gitdir:")) return false;
  std::string pattern(condition.substr(condition.find(':') + 1));
  if (pattern.ends_with('/')) pattern += "**";
  if (pattern.starts_with("./")) {
    const std::string folder = file.substr(0, file.rfind('/') + 1);
    if (!git_dir_.starts_with(folder)) return false;
    return Glob(pattern.substr(2), fold_case)
        .matches(std::string_view(git_dir_).substr(folder.size()));
  }
  const auto expanded = expand(pattern, {});
  if (!expanded) return false;
  pattern = expanded->starts_with('/') ? *expanded : "**/" + *expanded;
  return Glob(pattern, fold_case).matches(git_dir_);
}

}  // namespace gpl::artifact
