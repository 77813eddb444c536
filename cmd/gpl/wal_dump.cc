#include "wal_dump.h"

#include <array>
#include <cstdio>
#include <variant>

#include "gpl/wire/codec.h"
#include "json.h"
#include "output.h"

namespace gpl::cmd {
namespace {

std::string_view kind_of(raft::EntryKind kind) {
  switch (kind) {
    case raft::EntryKind::noop:
      return "noop";
    case raft::EntryKind::command:
      return "command";
    case raft::EntryKind::configuration:
      return "configuration";
  }
  return "";
}

std::string words_of(const raft::Configuration& configuration) {
  return "voters " + node_list(configuration.voters) + "; learners " +
         node_list(configuration.learners);
}

Json numbers(const std::vector<raft::NodeId>& ids) {
  Json out = Json::array();
  for (const raft::NodeId id : ids) out.push_back(id.value);
  return out;
}

void put_configuration(Json& json, const raft::Configuration& configuration) {
  json["voters"] = numbers(configuration.voters);
  json["learners"] = numbers(configuration.learners);
}

/// One record's columns behind its place; those that it has not are empty.
struct Row {
  std::string kind;
  std::string index;
  std::string term;
  std::string bytes;
  std::string what;
};

struct RowOf {
  const WalDump::Options& options;

  Row operator()(const raft::Entry& entry) const {
    return {std::string(kind_of(entry.kind)), std::to_string(entry.index),
            std::to_string(entry.term), std::to_string(entry.data.size()), what(entry)};
  }
  Row operator()(const raft::HardState& state) const {
    return {"hard-state", "", std::to_string(state.term), "",
            state.vote.value == 0 ? "no vote" : "vote for " + std::to_string(state.vote.value)};
  }
  Row operator()(const raft::SnapshotMark& mark) const {
    return {"mark", std::to_string(mark.index), std::to_string(mark.term), "",
            words_of(mark.configuration)};
  }
  Row operator()(const store::Onward& onward) const {
    return {"onward", "", "", "", "to segment " + std::to_string(onward.segment)};
  }

  std::string what(const raft::Entry& entry) const {
    if (entry.kind == raft::EntryKind::command) return printable(options.describe(entry));
    if (entry.kind == raft::EntryKind::noop) return "";
    const auto configuration = raft::decode_configuration(entry.data);
    return configuration ? words_of(configuration.value()) : hex_prefix(entry);
  }
};

struct JsonOf {
  const WalDump::Options& options;

  Json operator()(const raft::Entry& entry) const {
    Json json{{"kind", kind_of(entry.kind)},
              {"index", entry.index},
              {"term", entry.term},
              {"bytes", entry.data.size()}};
    if (entry.kind == raft::EntryKind::command) json["what"] = options.describe(entry);
    if (entry.kind == raft::EntryKind::configuration) {
      const auto configuration = raft::decode_configuration(entry.data);
      if (configuration) put_configuration(json, configuration.value());
    }
    return json;
  }
  Json operator()(const raft::HardState& state) const {
    return {{"kind", "hard-state"},
            {"term", state.term},
            {"vote", state.vote.value == 0 ? Json(nullptr) : Json(state.vote.value)}};
  }
  Json operator()(const raft::SnapshotMark& mark) const {
    Json json{{"kind", "mark"}, {"index", mark.index}, {"term", mark.term}};
    put_configuration(json, mark.configuration);
    return json;
  }
  Json operator()(const store::Onward& onward) const {
    return {{"kind", "onward"}, {"to_segment", onward.segment}};
  }
};

std::string line(const std::array<std::string, 8>& columns) {
  // As wide as most are; a wider one is not cut. Text to the left, numbers to the right.
  constexpr std::array<int, 7> widths = {7, 10, 9, -13, 9, 6, 7};
  std::string text;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const std::string& column = columns[i];
    const auto width = static_cast<std::size_t>(widths[i] < 0 ? -widths[i] : widths[i]);
    const std::string blanks(column.size() < width ? width - column.size() : 0, ' ');
    text += (widths[i] < 0 ? column + blanks : blanks + column) + "  ";
  }
  text += columns.back();
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

}  // namespace

std::string hex_prefix(const raft::Entry& entry) {
  constexpr std::size_t shown_bytes = 16;
  std::string text;
  for (const char byte : entry.data.substr(0, shown_bytes)) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(byte)));
    text += digits.data();
  }
  return text + (entry.data.size() > shown_bytes ? "..." : "");
}

std::string command_names(const raft::Entry& entry) {
  const auto commands = wire::decode<std::vector<Command>>(entry.data);
  if (!commands) return hex_prefix(entry);
  std::string text;
  for (const Command& command : commands.value()) {
    text += (text.empty() ? "" : ", ") + std::string(name_of(command));
  }
  return text;
}

std::string node_list(const std::vector<raft::NodeId>& ids) {
  std::string text;
  for (const raft::NodeId id : ids) text += (text.empty() ? "" : ", ") + std::to_string(id.value);
  return text.empty() ? "-" : text;
}

void WalDump::begin() {
  if (!options_.json) {
    put(line({"SEGMENT", "OFFSET", "BATCH", "KIND", "INDEX", "TERM", "BYTES", "WHAT"}));
  }
}

Status WalDump::add(const store::Batch& batch) {
  std::string text;
  for (const store::LocatedRecord& record : batch.records) {
    if (options_.json) {
      Json json{{"segment", batch.segment}, {"offset", record.offset}, {"batch", batch.number}};
      json.update(std::visit(JsonOf{options_}, record.body));
      text += to_text(json);
      continue;
    }
    Row row = std::visit(RowOf{options_}, record.body);
    text += line({std::to_string(batch.segment), std::to_string(record.offset),
                  std::to_string(batch.number), std::move(row.kind), std::move(row.index),
                  std::move(row.term), std::move(row.bytes), std::move(row.what)});
  }
  put(text);
  if (exit_code_ != 0) return Error{Code::io, "nobody reads what is printed"};
  return success();
}

void WalDump::end(const std::string& how, const std::optional<store::Place>& place,
                  const std::string& message) {
  if (!options_.json) return;
  Json json{{"schema", 1}, {"end", how}};
  json["file"] = place ? Json(place->file) : Json(nullptr);
  json["offset"] = place ? Json(place->offset) : Json(nullptr);
  json["message"] = message.empty() ? Json(nullptr) : Json(message);
  put(to_text(json));
}

void WalDump::put(const std::string& text) {
  if (exit_code_ == 0) exit_code_ = print(text);
}

}  // namespace gpl::cmd
