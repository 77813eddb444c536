#include "gpl/auth/key.h"

#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "gpl/client/voice.h"
#include "gpl/core/ascii.h"
#include "gpl/host/folders.h"
#include "gpl/host/key_file.h"
#include "gpl/peer/identity.h"
#include "gpl/posix/error.h"
#include "option_table.h"
#include "output.h"

namespace gpl::cmd {
namespace {

using auth::Key;
using auth::Role;
using Kind = OptionRow::Kind;

constexpr OptionRow rows[] = {
    {"force", Kind::flag, "", "Options:", "of set: take the place of another key that is there"},
    {"quiet", Kind::flag, "", "Options:", "say nothing but errors"},
    {"help", Kind::flag, "", "Options:", "print this"},
};

constexpr const char* help_head =
    R"(The key of a cluster: machines that have the same one find and trust each other.

  gpl key show | ssh lab2 gpl key set       lab2 may join: gpl worker --join there
  gpl key derive client > ana.key           for ana, who submits and is no machine of the cluster

Usage: gpl key show|new|set|derive client|observer

show prints this machine's key; new makes one, as the first gpl worker does; set reads one, a
line, from standard input. derive prints a key that lets its holder do less: a client submits
jobs and looks after its own, an observer only looks.
A key is a secret: who has the cluster's can run anything on its machines.
)";

constexpr std::size_t most_line_bytes = 4096;

int usage_error(const std::string& message) {
  complain("key: " + message + " (see gpl key --help)");
  return 2;
}

int fail(const std::string& message) {
  complain("key: " + message);
  return 1;
}

/// The cluster and the role, which are no secret.
std::string described(const Key& key) {
  std::string cluster = "cluster " + key.fingerprint();
  switch (key.role()) {
    case Role::peer:
      return "the key of " + cluster;
    case Role::client:
      return "a client's key of " + cluster;
    case Role::observer:
      return "an observer's key of " + cluster;
  }
  return cluster;
}

std::string what_its_holder_can(Role role) {
  switch (role) {
    case Role::peer:
      return "run anything on the machines of the cluster";
    case Role::client:
      return "submit jobs to the cluster";
    case Role::observer:
      return "see the jobs and machines of the cluster";
  }
  return "";
}

int print_key(const Key& key) {
  if (::isatty(STDOUT_FILENO) != 0)
    complain("the line below is a secret: who has it can " + what_its_holder_can(key.role()));
  return print(key.text() + "\n");
}

/// This machine's; nothing when it has none.
Result<std::optional<Key>> own_key(const std::string& configuration) {
  Result<std::optional<std::string>> line = host::read_key_file(configuration);
  if (!line.ok()) return std::move(line).error();
  if (!line.value()) return std::optional<Key>();
  Result<Key> key = Key::parse(*line.value());
  if (!key.ok())
    return Error{key.error().code, host::key_file_path(configuration) + ": " + key.error().message};
  return std::optional<Key>(std::move(key).value());
}

Result<Key> needed_key(const std::string& configuration) {
  Result<std::optional<Key>> key = own_key(configuration);
  if (!key.ok()) return std::move(key).error();
  if (!key.value())
    return Error{Code::not_found,
                 "this machine has no key (" + host::key_file_path(configuration) +
                     "): `gpl key new` or the first `gpl worker` makes one, `gpl key set` takes "
                     "that of another machine"};
  return *std::move(key).value();
}

int show(const host::Folders& folders) {
  const Result<Key> key = needed_key(folders.configuration);
  return key.ok() ? print_key(key.value()) : fail(key.error().message);
}

int derive(const host::Folders& folders, Role role) {
  const Result<Key> key = needed_key(folders.configuration);
  if (!key.ok()) return fail(key.error().message);
  const Result<Key> derived = key.value().derive(role);
  if (!derived.ok())
    return fail(host::key_file_path(folders.configuration) + ": " + derived.error().message);
  return print_key(derived.value());
}

int make(const host::Folders& folders, const client::Voice& voice) {
  const std::string path = host::key_file_path(folders.configuration);
  const Result<std::optional<Key>> present = own_key(folders.configuration);
  if (!present.ok()) return fail(present.error().message);
  const std::string way_out =
      ": `gpl key show` prints it. To begin anew, move that file away first";
  if (present.value())
    return fail("this machine has " + described(*present.value()) + " already, in " + path +
                way_out);
  const Key key = Key::draw();
  const Status made = host::create_key_file(folders.configuration, key.text());
  if (!made.ok())
    return fail(made.error().message + (made.error().code == Code::busy ? way_out : ""));
  voice.say("made " + described(key) + " in " + path + "; next: gpl worker");
  return 0;
}

/// The first line that is not empty.
Result<std::string> line_from_input() {
  std::string text;
  for (;;) {
    const std::size_t start = text.find_first_not_of(" \t\r\n");
    const bool begun = start != std::string::npos;
    if (begun && text.find('\n', start) != std::string::npos)
      return text.substr(start, text.find('\n', start) - start);
    if (text.size() > most_line_bytes)
      return Error{Code::invalid, "what comes on standard input is longer than a key"};
    char chunk[512];
    const ssize_t got = ::read(STDIN_FILENO, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return posix::io_error("cannot read standard input");
    if (got > 0) {
      text.append(chunk, static_cast<std::size_t>(got));
    } else if (begun) {
      return text.substr(start);
    } else {
      return Error{Code::invalid,
                   "no key came on standard input: gpl key show | ssh HOST gpl key set"};
    }
  }
}

/// Why the key that is there is to stay; "" when it may be replaced.
std::string reason_to_keep(const Result<std::optional<Key>>& present, const host::Folders& folders,
                           bool force) {
  const std::string path = host::key_file_path(folders.configuration);
  if (!force && !present.ok())
    return present.error().message + ". `gpl key set --force` takes its place";
  if (!force)
    return "this machine has another key, " + described(*present.value()) + ", in " + path +
           ": nothing was changed. `gpl key set --force` takes its place";
  const Result<std::optional<peer::Identity>> identity = peer::read_identity(folders.state);
  if (!identity.ok()) return identity.error().message;
  if (identity.value())
    return "this machine is a peer of cluster " + peer::short_name(identity.value()->cluster) +
           ", which its key is for: `gpl leave` first";
  return "";
}

int set(const host::Folders& folders, bool force, const client::Voice& voice) {
  if (::isatty(STDIN_FILENO) != 0)
    complain("paste the line that `gpl key show` prints on a machine of the cluster, then Enter");
  const Result<std::string> line = line_from_input();
  if (!line.ok()) return fail(line.error().message);
  const Result<Key> key = Key::parse(line.value());
  if (!key.ok()) return fail(key.error().message);
  const Result<std::optional<Key>> present = own_key(folders.configuration);
  const bool there = !present.ok() || present.value();
  if (present.ok() && present.value() == key.value()) {
    voice.say("this machine has " + described(key.value()) + " already");
    return 0;
  }
  if (there) {
    if (const std::string reason = reason_to_keep(present, folders, force); !reason.empty())
      return fail(reason);
  }
  const std::string text = key.value().text();
  const Status written = there ? host::replace_key_file(folders.configuration, text)
                               : host::create_key_file(folders.configuration, text);
  if (!written.ok()) return fail(written.error().message);
  voice.say("this machine has " + described(key.value()) + " now; next: " +
            (key.value().role() == Role::peer ? "gpl worker --join" : "gpl status"));
  return 0;
}

std::optional<Role> derived_role(const std::string& word) {
  for (const Role role : {Role::client, Role::observer})
    if (name_of(role) == word) return role;
  return std::nullopt;
}

/// "" when the words make sense. A word that nobody expects is not repeated: it may be a key.
std::string fault_of(const ParsedOptions& options) {
  const std::vector<std::string>& words = options.rest;
  if (words.empty()) return "which: show, new, set or derive?";
  const std::string& what = words.front();
  if (what == "rotate" || what == "revoke")
    return "'" + what + "' comes with a later version of gpl";
  if (what != "show" && what != "new" && what != "set" && what != "derive")
    return "its first word is none of show, new, set and derive";
  if (options.has("force") && what != "set") return "--force is of set";
  if (what == "derive") {
    if (words.size() != 2 || !derived_role(words[1]))
      return "derive for which role? client or observer";
    return "";
  }
  if (what == "set" && words.size() > 1)
    return "set reads the key from standard input: a command's words can be seen by others";
  return words.size() > 1 ? what + " takes no words" : "";
}

}  // namespace

std::span<const OptionRow> key_options() { return rows; }

int key_command(const Invocation& invocation) {
  const Result<ParsedOptions> parsed = parse_mixed_options(rows, invocation.args);
  if (!parsed.ok()) return usage_error(parsed.error().message);
  const ParsedOptions& options = parsed.value();
  if (options.has("help")) return print(help_head + describe_options(rows));
  if (const std::string fault = fault_of(options); !fault.empty()) return usage_error(fault);
  const Result<host::Folders> folders = host::user_folders();
  if (!folders.ok()) return fail(folders.error().message);
  const client::Voice voice(options.has("quiet"));
  const std::string& what = options.rest.front();
  if (what == "show") return show(folders.value());
  if (what == "new") return make(folders.value(), voice);
  if (what == "set") return set(folders.value(), options.has("force"), voice);
  return derive(folders.value(), *derived_role(options.rest[1]));
}

}  // namespace gpl::cmd
