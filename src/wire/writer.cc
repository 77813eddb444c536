#include "gpl/wire/writer.h"

#include <cassert>
#include <limits>
#include <msgpack/pack.hpp>

namespace gpl::wire {
namespace {

/// What the library writes to.
struct Sink {
  std::string& bytes;
  void write(const char* data, std::size_t size) { bytes.append(data, size); }
};

std::uint32_t length(std::size_t count) {
  assert(count <= std::numeric_limits<std::uint32_t>::max());
  return static_cast<std::uint32_t>(count);
}

}  // namespace

// The library throws nothing of its own while it packs: only what appending to a string does.

void Writer::natural(std::uint64_t value) {
  Sink sink{bytes_};
  msgpack::packer<Sink>(sink).pack_uint64(value);
}

void Writer::integer(std::int64_t value) {
  Sink sink{bytes_};
  msgpack::packer<Sink>(sink).pack_int64(value);
}

void Writer::boolean(bool value) {
  Sink sink{bytes_};
  msgpack::packer<Sink> packer(sink);
  value ? packer.pack_true() : packer.pack_false();
}

void Writer::nothing() {
  Sink sink{bytes_};
  msgpack::packer<Sink>(sink).pack_nil();
}

void Writer::bytes(std::string_view value) {
  Sink sink{bytes_};
  msgpack::packer<Sink> packer(sink);
  packer.pack_bin(length(value.size()));
  packer.pack_bin_body(value.data(), length(value.size()));
}

void Writer::array(std::size_t count) {
  Sink sink{bytes_};
  msgpack::packer<Sink>(sink).pack_array(length(count));
}

void Writer::map(std::size_t count) {
  Sink sink{bytes_};
  msgpack::packer<Sink>(sink).pack_map(length(count));
}

}  // namespace gpl::wire
