#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace gpl {

/// Records in order of `key_of(record)`, kept in parts of a bounded number of neighbours. `freeze`
/// shares all parts in O(number of parts); a part is copied when it is written to for the first
/// time since the last freeze.
///
/// Whether a part is frozen is decided by the generation in which it was made, not by asking its
/// shared_ptr for use_count() == 1: that reads the count relaxed, so a write that follows could
/// overtake the last reads of another thread that just let go of the part. What a freeze has seen
/// is never written to again, whoever still holds it, and no fence is needed. The price: a part
/// may be copied although nobody reads it any more, at most once a freeze.
template <class Record>
class PartedTable {
 public:
  using Key = decltype(key_of(std::declval<const Record&>()));
  static constexpr std::size_t part_size = 64;

  struct Part {
    std::uint64_t generation = 0;
    std::vector<Record> records;  ///< 1 to part_size
  };
  using Frozen = std::vector<std::shared_ptr<const Part>>;

  PartedTable() = default;
  // Copies would share parts with a table that goes on to write to them.
  PartedTable(const PartedTable&) = delete;
  PartedTable& operator=(const PartedTable&) = delete;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  const Record* find(const Key& key) const {
    const Record* record = at_or_before(key);
    return record != nullptr && key_of(*record) == key ? record : nullptr;
  }
  /// The last record whose key is not above `key`, or null.
  const Record* at_or_before(const Key& key) const {
    const std::size_t place = place_of(key);
    if (place == slots_.size() || key < slots_[place].first) return nullptr;
    const auto& records = slots_[place].part->records;
    return &*std::prev(above(records, key));
  }
  /// The first record whose key is above `key`, or null.
  const Record* after(const Key& key) const {
    std::size_t place = place_of(key);
    if (place == slots_.size()) return nullptr;
    const auto& records = slots_[place].part->records;
    const auto found = above(records, key);
    if (found != records.end()) return &*found;
    return ++place == slots_.size() ? nullptr : &slots_[place].part->records.front();
  }
  /// The first record, or null.
  const Record* first() const {
    return slots_.empty() ? nullptr : &slots_.front().part->records.front();
  }

  /// To be changed, but for its key. Requires that it is there. Until the next call.
  Record& write(const Key& key) {
    auto& records = writable(place_of(key)).records;
    const auto found = std::prev(above(records, key));
    assert(key_of(*found) == key);
    return *found;
  }

  /// Requires that no record has its key.
  void insert(Record record) {
    const Key key = key_of(record);
    ++size_;
    std::size_t place = place_of(key);
    if (place == slots_.size()) return add_slot(place, key, std::move(record));
    if (slots_[place].part->records.size() == part_size) {
      // What grows at its end leaves full parts behind, not half full ones.
      if (place + 1 == slots_.size() && key_of(slots_[place].part->records.back()) < key)
        return add_slot(place + 1, key, std::move(record));
      split(place);
      place = place_of(key);
    }
    auto& records = writable(place).records;
    records.insert(above(records, key), std::move(record));
    slots_[place].first = key_of(records.front());
  }

  /// Requires that it is there.
  void erase(const Key& key) {
    const std::size_t place = place_of(key);
    auto& records = writable(place).records;
    const auto found = std::prev(above(records, key));
    assert(key_of(*found) == key);
    records.erase(found);
    --size_;
    if (records.empty()) {
      slots_.erase(at(place));
      return;
    }
    slots_[place].first = key_of(records.front());
    if (place + 1 < slots_.size()) merge_if_small(place);
    if (place > 0) merge_if_small(place - 1);
  }

  Frozen freeze() {
    ++generation_;
    Frozen frozen;
    frozen.reserve(slots_.size());
    for (const Slot& slot : slots_) frozen.push_back(slot.part);
    return frozen;
  }

 private:
  struct Slot {
    Key first;  ///< of the part: the search for it stays within this array
    std::shared_ptr<Part> part;
  };

  auto at(std::size_t place) { return slots_.begin() + static_cast<std::ptrdiff_t>(place); }

  template <class Records>
  static auto above(Records& records, const Key& key) {
    return std::upper_bound(records.begin(), records.end(), key,
                            [](const Key& k, const Record& record) { return k < key_of(record); });
  }

  // The slot where the key is or would be: the end only when there is none at all.
  std::size_t place_of(const Key& key) const {
    const auto found =
        std::upper_bound(slots_.begin(), slots_.end(), key,
                         [](const Key& k, const Slot& slot) { return k < slot.first; });
    return found == slots_.begin() ? 0 : static_cast<std::size_t>(found - slots_.begin()) - 1;
  }

  Part& writable(std::size_t place) {
    assert(place < slots_.size());
    std::shared_ptr<Part>& part = slots_[place].part;
    if (part->generation != generation_)
      part = std::make_shared<Part>(Part{generation_, part->records});
    return *part;
  }

  void add_slot(std::size_t place, const Key& key, Record record) {
    auto part = std::make_shared<Part>();
    part->generation = generation_;
    part->records.push_back(std::move(record));
    slots_.insert(at(place), Slot{key, std::move(part)});
  }

  void split(std::size_t place) {
    auto& records = writable(place).records;
    const auto middle = records.begin() + static_cast<std::ptrdiff_t>(records.size() / 2);
    auto part = std::make_shared<Part>();
    part->generation = generation_;
    part->records.assign(std::move_iterator(middle), std::move_iterator(records.end()));
    records.erase(middle, records.end());
    const Key first = key_of(part->records.front());
    slots_.insert(at(place + 1), Slot{first, std::move(part)});
  }

  // Takes the next part in when both together leave enough room to grow.
  void merge_if_small(std::size_t place) {
    const auto& next = slots_[place + 1].part;
    if (slots_[place].part->records.size() + next->records.size() > part_size / 2) return;
    auto& records = writable(place).records;
    records.insert(records.end(), next->records.begin(), next->records.end());
    slots_.erase(at(place + 1));
  }

  std::vector<Slot> slots_;
  std::uint64_t generation_ = 0;
  std::size_t size_ = 0;
};

}  // namespace gpl
