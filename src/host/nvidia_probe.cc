#include "gpl/host/nvidia_probe.h"

#include <algorithm>
#include <cstring>

#include "gpl/core/ascii.h"
#include "gpl/host/nvidia_xml.h"
#include "gpl/host/text_lines.h"
#include "gpl/posix/error.h"

namespace gpl::host {
namespace {

constexpr const char* tool = "nvidia-smi";
constexpr std::size_t longest_message = 1000;
constexpr int most_numbers = 64;

// The tool exits with NVML's return code: what these say holds for every card.
bool speaks_of_all_cards(int exit_status) {
  constexpr int no_permission = 4;
  constexpr int not_found = 6;
  constexpr int driver_not_loaded = 9;
  constexpr int library_not_found = 12;
  constexpr int function_not_found = 13;
  constexpr int library_mismatch = 18;
  return exit_status == no_permission || exit_status == not_found ||
         exit_status == driver_not_loaded || exit_status == library_not_found ||
         exit_status == function_not_found || exit_status == library_mismatch;
}

bool exited(const ProbeAnswer& answer) { return answer.ending == ProbeAnswer::Ending::exited; }

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "; ") + line;
  if (text.size() > longest_message) text.resize(longest_message);
  return text;
}

std::vector<std::string> to_strings(const std::vector<std::string_view>& lines) {
  return {lines.begin(), lines.end()};
}

std::string how_it_ended(const ProbeAnswer& answer) {
  switch (answer.ending) {
    case ProbeAnswer::Ending::exited:
      return answer.number == 0 ? "it answered with nothing that is understood"
                                : "it failed without a word";
    case ProbeAnswer::Ending::signalled:
      return "ended by signal " + std::to_string(answer.number);
    case ProbeAnswer::Ending::timed_out:
      return "timed out";
    case ProbeAnswer::Ending::too_much_output:
      return "it printed more than 4 MiB and was stopped";
    case ProbeAnswer::Ending::not_started:
      return "it cannot be run: " + posix::errno_text(answer.number);
  }
  return "";
}

// What a run that gave no card said, for a person.
std::string message_of(const ProbeAnswer& answer) {
  if (!exited(answer)) return how_it_ended(answer);
  const std::vector<std::string_view> out = lines_with_text(answer.out);
  const std::string text = joined(to_strings(out.empty() ? lines_with_text(answer.err) : out));
  return text.empty() ? how_it_ended(answer) : text;
}

NvidiaProbe::Words with_card(NvidiaProbe::Words words, const std::string& card) {
  words.push_back("-i");
  words.push_back(card);
  return words;
}

std::string name_for_tool(int index, const std::string& uuid) {
  return uuid.empty() ? std::to_string(index) : uuid;
}

// A virtual GPU of a hypervisor, "GRID A100D-1-20C": MIG shows through, but it is whole.
bool is_virtual(const Accelerator& card) {
  const std::size_t dash = card.name.rfind('-');
  if (dash == std::string::npos || card.name.size() < dash + 3) return false;
  const std::string profile = card.name.substr(dash + 1);
  const bool numbered = std::all_of(profile.begin(), profile.end() - 1, is_digit);
  return numbered && std::string_view("ABCQ").find(profile.back()) != std::string_view::npos;
}

}  // namespace

NvidiaProbe::Words NvidiaProbe::query_words() const {
  std::string fields;
  for (const std::string& field : fields_) fields += (fields.empty() ? "" : ",") + field;
  return {"--query-gpu=" + fields, "--format=csv,noheader,nounits"};
}

std::vector<NvidiaProbe::Words> NvidiaProbe::next() const {
  std::vector<Words> runs;
  switch (stage_) {
    case Stage::query:
      return {query_words()};
    case Stage::list:
      return {{"-L"}};
    case Stage::each:
      for (const NvidiaListed& card : asked_) {
        runs.push_back(with_card(query_words(), name_for_tool(card.index, card.uuid)));
      }
      return runs;
    case Stage::by_number:
      return {with_card(query_words(), std::to_string(number_))};
    case Stage::slices:
      for (const std::size_t place : cut_) {
        const Accelerator& card = cards_[place];
        runs.push_back(with_card({"-q", "-x"}, name_for_tool(card.index, card.uuid)));
      }
      return runs;
    case Stage::done:
      return {};
  }
  return {};
}

void NvidiaProbe::take(const std::vector<ProbeAnswer>& answers) {
  for (const ProbeAnswer& answer : answers) {
    gave_up_ = gave_up_ || answer.ending == ProbeAnswer::Ending::timed_out ||
               answer.ending == ProbeAnswer::Ending::not_started;
  }
  switch (stage_) {
    case Stage::query:
      take_query(answers.front());
      break;
    case Stage::list:
      take_list(answers.front());
      break;
    case Stage::each:
      take_each(answers);
      break;
    case Stage::by_number:
      take_by_number(answers.front());
      break;
    case Stage::slices:
      take_slices(answers);
      break;
    case Stage::done:
      break;
  }
  if (gave_up_) stage_ = Stage::done;
}

// True when the query is worth asking again without the field.
bool NvidiaProbe::drop_unknown_field(const ProbeAnswer& answer) {
  const std::optional<std::string> field = unknown_nvidia_field(answer.out + answer.err);
  if (!field) return false;
  const auto known = std::find(fields_.begin(), fields_.end(), *field);
  if (known == fields_.end() || fields_.size() <= 2) return false;
  fields_.erase(known);
  return true;
}

void NvidiaProbe::note_problem(const ProbeAnswer& answer, const std::vector<std::string>& notes) {
  std::vector<std::string> lines = notes;
  for (const std::string_view line : lines_with_text(answer.err)) lines.emplace_back(line);
  if (!exited(answer)) lines.insert(lines.begin(), how_it_ended(answer));
  if (lines.empty() && answer.number == 0) return;
  if (lines.empty()) lines.push_back(how_it_ended(answer));
  ProbeProblem problem{tool, exited(answer) ? std::optional<int>(answer.number) : std::nullopt,
                       joined(lines)};
  if (std::find(problems_.begin(), problems_.end(), problem) == problems_.end()) {
    problems_.push_back(std::move(problem));
  }
}

bool NvidiaProbe::asks_alone_may_help(const ProbeAnswer& answer) const {
  return exited(answer) && (answer.number == 0 || !speaks_of_all_cards(answer.number) ||
                            names_a_bad_card(answer.out));
}

void NvidiaProbe::take_query(const ProbeAnswer& answer) {
  if (drop_unknown_field(answer)) return;
  NvidiaQuery query = parse_nvidia_query(answer.out, fields_);
  note_problem(answer, query.notes);
  cards_ = std::move(query.cards);
  for (std::size_t i = 0; i < cards_.size(); ++i) {
    if (cards_[i].index < 0) cards_[i].index = static_cast<int>(i);
  }
  if (!cards_.empty()) return after_cards();
  query_failure_ = message_of(answer);
  if (exited(answer) && lines_with_text(answer.out + answer.err).empty()) {
    note_problem(answer, {query_failure_});
  }
  stage_ = asks_alone_may_help(answer) ? Stage::list : Stage::done;
}

void NvidiaProbe::take_list(const ProbeAnswer& answer) {
  list_ = parse_nvidia_list(answer.out);
  const bool by_bad_cards = list_->notes.empty() && !list_->cards.empty() && exited(answer);
  if (!by_bad_cards) note_problem(answer, list_->notes);
  if (!cards_.empty()) return after_cards();
  // It may have stopped at the bad card; then only the numbers lead to those behind it.
  const bool whole = exited(answer) && answer.number == 0 && !list_->cards.empty();
  if (!whole && names_a_bad_card(query_failure_)) {
    stage_ = Stage::by_number;
  } else {
    ask_listed_cards();
  }
}

void NvidiaProbe::ask_listed_cards() {
  for (const NvidiaListed& card : list_->cards) {
    if (card.fault.empty()) {
      asked_.push_back(card);
    } else {
      add_bad_card(card.index, card.fault);
    }
  }
  const bool one_card_failed_all = cards_.empty() && names_a_bad_card(query_failure_);
  stage_ = !asked_.empty() ? Stage::each : one_card_failed_all ? Stage::by_number : Stage::done;
}

void NvidiaProbe::take_each(const std::vector<ProbeAnswer>& answers) {
  const bool unknown_field =
      std::any_of(answers.begin(), answers.end(),
                  [this](const ProbeAnswer& answer) { return drop_unknown_field(answer); });
  if (unknown_field && !gave_up_) return;
  for (std::size_t i = 0; i < answers.size() && i < asked_.size(); ++i) {
    NvidiaQuery query = parse_nvidia_query(answers[i].out, fields_);
    if (query.cards.empty()) {
      add_bad_card(asked_[i].index, message_of(answers[i]));
      cards_.back().name = asked_[i].name;
      cards_.back().uuid = asked_[i].uuid;
      if (!exited(answers[i])) note_problem(answers[i], {});
      continue;
    }
    note_problem(answers[i], query.notes);
    if (query.cards.front().index < 0) query.cards.front().index = asked_[i].index;
    cards_.push_back(std::move(query.cards.front()));
  }
  after_cards();
}

void NvidiaProbe::take_by_number(const ProbeAnswer& answer) {
  if (drop_unknown_field(answer)) return;
  NvidiaQuery query = parse_nvidia_query(answer.out, fields_);
  const bool bad = query.cards.empty() && names_a_bad_card(answer.out);
  if (bad) {
    add_bad_card(number_, message_of(answer));
  } else if (!query.cards.empty()) {
    if (query.cards.front().index < 0) query.cards.front().index = number_;
    cards_.push_back(std::move(query.cards.front()));
  }
  const bool more = (bad || !query.cards.empty()) && ++number_ < most_numbers;
  if (!more) after_cards();
}

void NvidiaProbe::after_cards() {
  const bool any_cut = std::any_of(cards_.begin(), cards_.end(), [](const Accelerator& card) {
    return card.mig_mode == true && card.usable;
  });
  stage_ = Stage::done;
  if (!any_cut) return;
  if (list_) {
    attach_listed_slices();
  } else {
    stage_ = Stage::list;
  }
}

void NvidiaProbe::attach_listed_slices() {
  for (const NvidiaListed& listed : list_->cards) {
    const auto same = std::find_if(cards_.begin(), cards_.end(), [&](const Accelerator& card) {
      return card.uuid.empty() || listed.uuid.empty() ? card.index == listed.index
                                                      : card.uuid == listed.uuid;
    });
    if (same == cards_.end() && !listed.fault.empty()) {
      add_bad_card(listed.index, listed.fault);
    } else if (same != cards_.end() && same->mig_mode == true) {
      same->partitions = listed.slices;
      if (!listed.slices.empty()) cut_.push_back(static_cast<std::size_t>(same - cards_.begin()));
    }
  }
  if (!cut_.empty()) stage_ = Stage::slices;
}

void NvidiaProbe::take_slices(const std::vector<ProbeAnswer>& answers) {
  stage_ = Stage::done;
  for (std::size_t i = 0; i < answers.size() && i < cut_.size(); ++i) {
    Accelerator& card = cards_[cut_[i]];
    const std::vector<NvidiaXmlCard> told = parse_nvidia_xml(answers[i].out);
    if (!exited(answers[i]) || answers[i].number != 0) {
      note_problem(answers[i], told.empty() ? to_strings(lines_with_text(answers[i].out))
                                            : std::vector<std::string>());
    }
    for (const NvidiaXmlCard& same : told) {
      // Joined by order, so only where both tell of as many slices.
      if (told.size() > 1 && same.uuid != card.uuid) continue;
      if (same.slices.size() != card.partitions.size()) continue;
      for (std::size_t k = 0; k < same.slices.size(); ++k) {
        Partition& slice = card.partitions[k];
        slice.memory_bytes = same.slices[k].memory_bytes;
        if (same.slices[k].gpu_instance) slice.gpu_instance = same.slices[k].gpu_instance;
      }
    }
  }
}

void NvidiaProbe::add_bad_card(int index, const std::string& message) {
  Accelerator card;
  card.kind = AcceleratorKind::cuda;
  card.vendor = "nvidia";
  card.index = index;
  card.pci = pci_address_in(message);
  card.problems.push_back(message);
  cards_.push_back(std::move(card));
}

DeviceFindings NvidiaProbe::findings() const {
  DeviceFindings found{cards_, problems_};
  std::string driver;  // of one machine: every card has the same
  for (const Accelerator& card : cards_) driver = std::max(driver, card.driver);
  for (Accelerator& card : found.accelerators) {
    card.id = "cuda:" + std::to_string(card.index);
    if (card.driver.empty()) card.driver = driver;
    if (card.mig_mode != true || !card.usable || !card.partitions.empty()) continue;
    if (is_virtual(card)) continue;
    card.usable = false;
    const bool listed = list_ && !list_->cards.empty();
    card.problems.push_back(
        listed ? "MIG mode is on and no slice is made (nvidia-smi mig -cgi makes one)"
               : "MIG mode is on, and its slices are not known: nvidia-smi -L failed");
  }
  std::stable_sort(found.accelerators.begin(), found.accelerators.end(),
                   [](const Accelerator& a, const Accelerator& b) { return a.index < b.index; });
  return found;
}

}  // namespace gpl::host
