#pragma once

namespace gpl {

/// The overloads of one visit; a variant's new alternative does not compile until it has one.
template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;  // clang 14 does not find it by itself

}  // namespace gpl
