#include "gpl/peer/lending.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

#include "gpl/core/ascii.h"
#include "gpl/core/size.h"

namespace gpl::peer {
namespace {

bool names(const std::string& word, const Accelerator& device) {
  return word == device.id || word == name_of(device.kind);
}

bool is_lent(const Lending& lending, const Accelerator& device) {
  return !lending.devices || std::any_of(lending.devices->begin(), lending.devices->end(),
                                         [&](const auto& word) { return names(word, device); });
}

std::string ids_of(const std::vector<Accelerator>& devices) {
  if (devices.empty()) return "no devices";
  std::string text;
  for (const Accelerator& device : devices) text += (text.empty() ? "" : ", ") + device.id;
  return text;
}

Status check_devices(const PeerOffer& probed, const Lending& lending) {
  if (!lending.devices) return success();
  for (const std::string& word : *lending.devices) {
    const auto& there = probed.accelerators;
    if (std::any_of(there.begin(), there.end(), [&](const auto& one) { return names(word, one); }))
      continue;
    return Error{Code::invalid, "cannot lend " + word + ": " + probed.name + " has " +
                                    ids_of(there) + "; change --offer, or 'devices' in gpl.toml"};
  }
  return success();
}

Result<int> parse_cpus(const std::string& text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 0)
    return Error{Code::invalid, "--cpus " + in_quotes(text) + ": expected a number from 0 on"};
  return count;
}

Result<std::uint64_t> parse_memory(const std::string& text) {
  Result<std::uint64_t> size = parse_size(text);
  if (!size.ok()) return Error{size.error().code, "--memory: " + size.error().message};
  if (size.value() == 0) return Error{Code::invalid, "--memory 0: no job can run in that"};
  return size;
}

}  // namespace

Result<Lending> with_options(Lending lending, const LendingOptions& options) {
  if (options.offer) {
    auto devices = host::parse_lent_devices(*options.offer);
    if (!devices.ok()) return Error{devices.error().code, "--offer: " + devices.error().message};
    lending.devices = std::move(devices).value();
  }
  if (options.cpus) {
    const Result<int> cpus = parse_cpus(*options.cpus);
    if (!cpus.ok()) return cpus.error();
    lending.cpus = cpus.value();
  }
  if (options.memory) {
    const Result<std::uint64_t> memory = parse_memory(*options.memory);
    if (!memory.ok()) return memory.error();
    lending.memory_bytes = memory.value();
  }
  return lending;
}

Status check_limits(const PeerOffer& probed, const Lending& lending) {
  if (Status fine = check_devices(probed, lending); !fine.ok()) return fine;
  if (lending.cpus && *lending.cpus > probed.host.cpus)
    return Error{Code::invalid, "cannot lend " + std::to_string(*lending.cpus) + " cpus: " +
                                    probed.name + " has " + std::to_string(probed.host.cpus) +
                                    " for this process; change --cpus, or 'cpus' in gpl.toml"};
  const std::uint64_t has = probed.host.memory_bytes;
  if (lending.memory_bytes && has != 0 && *lending.memory_bytes > has)
    return Error{Code::invalid, "cannot lend " + std::to_string(*lending.memory_bytes) +
                                    " bytes of memory: " + probed.name + " has " +
                                    std::to_string(has) + " (" + format_memory_size(has) +
                                    "); change --memory, or 'memory' in gpl.toml"};
  return success();
}

Lending lend_nothing() {
  Lending lending;
  lending.devices.emplace();
  lending.cpus = 0;
  return lending;
}

PeerOffer apply_limits(PeerOffer probed, const Lending& lending, int minute_of_day, bool draining) {
  PeerOffer offer = std::move(probed);
  std::erase_if(offer.accelerators, [&](const auto& device) { return !is_lent(lending, device); });
  if (lending.cpus) offer.host.cpus = std::min(offer.host.cpus, *lending.cpus);
  if (lending.memory_bytes) {
    // Where the machine does not say what it has, its owner's word is all there is.
    const std::uint64_t has = offer.host.memory_bytes;
    offer.host.memory_bytes =
        has == 0 ? *lending.memory_bytes : std::min(has, *lending.memory_bytes);
  }
  offer.closed.clear();
  if (draining) {
    offer.closed = draining_word;
  } else if (!is_open(lending.hours, minute_of_day)) {
    offer.closed = "lends " + in_words(lending.hours);
  }
  return offer;
}

int local_minute_of_day(Instant now) {
  const std::time_t time = now.since_epoch_ms / 1000;
  std::tm local = {};
  if (::localtime_r(&time, &local) == nullptr) return 0;
  return local.tm_hour * 60 + local.tm_min;
}

}  // namespace gpl::peer
