#include <algorithm>
#include <cassert>
#include <utility>

#include "gpl/core/overloaded.h"
#include "mirrors_state.h"

namespace gpl::peer {
namespace {

constexpr Duration link_patience = seconds(1);
constexpr Duration disk_patience = seconds(1);

std::size_t index_of(wire::OutputStream stream) { return static_cast<std::size_t>(stream); }

}  // namespace

Mirrors::State::Copy* Mirrors::State::find(const Fence& fence) {
  const auto entry = copies.find(fence);
  return entry == copies.end() ? nullptr : &entry->second;
}

void Mirrors::State::touch(const Fence& fence) {
  touched.insert(fence);
  if (std::exchange(end_of_turn_due, true)) return;
  around.loop.at_end_of_turn([weak = weak_from_this()] {
    if (const auto state = weak.lock()) state->at_end_of_turn();
  });
}

void Mirrors::State::at_end_of_turn() {
  end_of_turn_due = false;
  for (const Fence& fence : std::exchange(touched, {}))
    if (Copy* copy = find(fence)) look_after(*copy);
  ask_waiting();
}

void Mirrors::State::look_after(Copy& copy) {
  const Fence fence = copy.subject.fence;
  if (copy.stage == Stage::waits) {
    has_place(copy) ? ask(copy) : static_cast<void>(waiting.insert(fence));
  }
  const bool grew = put_away(copy);
  if (copy.taken_bytes > 0 && copy.question)
    around.far.say(*copy.question, wire::Taken{0, std::exchange(copy.taken_bytes, 0)});
  if (copy.stage == Stage::told && copy.backlog.empty() && !copy.syncing) {
    tell_end(copy);
    return sync(copy);
  }
  if (std::exchange(copy.tell, false) || grew)
    around.attempts.take(wire::from_keeper::Grew{fence, copy.bytes[0], copy.bytes[1],
                                                 copy.stage == Stage::complete});
}

/// Whom somebody looks at does not wait for the others.
bool Mirrors::State::has_place(const Copy& copy) const {
  return copy.followed || copy.watched || questions < around.most_questions;
}

void Mirrors::State::ask_waiting() {
  while (!waiting.empty() && questions < around.most_questions) ask(copies.at(*waiting.begin()));
}

void Mirrors::State::ask(Copy& copy) {
  const Fence fence = copy.subject.fence;
  waiting.erase(fence);
  if (!around.is_up(copy.subject.worker)) return break_off(copy, link_patience);
  // What came and was not put away comes again.
  copy.backlog.clear();
  copy.taken_bytes = 0;
  copy.came = copy.bytes;
  copy.stage = Stage::asked;
  ++questions;
  copy.question = around.far.ask(copy.subject.worker,
                                 wire::FollowAttempt{fence, copy.subject.job, copy.subject.task,
                                                     copy.bytes[0], copy.bytes[1], copy.followed},
                                 [weak = weak_from_this(), fence](Result<wire::Answer> answer) {
                                   if (const auto state = weak.lock())
                                     state->take(fence, std::move(answer));
                                 });
}

/// It is to be asked anew, unless another stage follows.
void Mirrors::State::end_question(Copy& copy) {
  assert(copy.question && copy.stage == Stage::asked);
  around.far.forget(*copy.question);
  copy.question.reset();
  copy.stage = Stage::waits;
  --questions;
}

void Mirrors::State::take(const Fence& fence, Result<wire::Answer> answer) {
  Copy* copy = find(fence);
  if (copy == nullptr || copy->stage != Stage::asked) return;
  if (answer.ok() && std::holds_alternative<wire::Output>(answer.value()))
    return take(*copy, std::move(std::get<wire::Output>(answer.value())));
  end_question(*copy);
  touch(fence);  // others may have waited for its place
  if (!answer.ok()) return break_off(*copy, link_patience);
  if (auto* over = std::get_if<wire::AttemptOver>(&answer.value())) {
    copy->over = std::move(*over);
    copy->stage = Stage::told;
    return;
  }
  refused(*copy);
}

/// A worker that has not heard of the attempt yet may only be behind.
void Mirrors::State::refused(Copy& copy) {
  if (!around.is_under_way(copy.subject.fence)) {
    copy.over = wire::AttemptOver{};
    copy.stage = Stage::told;
    return;
  }
  break_off(copy, copy.patience);
  copy.patience = std::min(link_patience, milliseconds(copy.patience.count_ms * 2));
}

/// Without a link it is not asked for before there is one: peer_is_up.
void Mirrors::State::break_off(Copy& copy, Duration patience) {
  copy.stage = Stage::broken;
  if (copy.backlog.empty()) copy.output.reset();  // there may be very many of these
  if (!around.is_up(copy.subject.worker)) return;
  const Fence fence = copy.subject.fence;
  copy.again = around.loop.after(patience, [this, fence] {
    Copy* broken = find(fence);
    if (broken == nullptr || broken->stage != Stage::broken) return;
    broken->stage = Stage::waits;
    touch(fence);
  });
}

void Mirrors::State::take(Copy& copy, wire::Output output) {
  std::uint64_t& came = copy.came.at(index_of(output.at.stream));
  Piece piece;
  piece.stream = output.at.stream;
  piece.data = std::move(output.data);
  if (output.at.offset < came) {  // not expected, and no harm
    piece.put_bytes = static_cast<std::size_t>(
        std::min<std::uint64_t>(piece.data.size(), came - output.at.offset));
    copy.taken_bytes += piece.put_bytes;
  } else {
    piece.gap_bytes = output.at.offset - came;
  }
  came = std::max(came, output.at.offset + piece.data.size());
  copy.backlog.push_back(std::move(piece));
  touch(copy.subject.fence);
}

bool Mirrors::State::open(Copy& copy) {
  if (copy.output) return true;
  Result<host::KeptOutput> output = folders.open(copy.subject, around.cap_bytes);
  if (!output.ok()) {
    if (!std::exchange(copy.noted, true))
      around.note("cannot keep a copy of the output of job " +
                  std::to_string(copy.subject.job.value) + ": " + output.error().message);
    copy.again =
        around.loop.after(disk_patience, [this, fence = copy.subject.fence] { touch(fence); });
    return false;
  }
  copy.output = std::make_shared<host::KeptOutput>(std::move(output).value());
  copy.output->follow(copy.followed, copy.given[0], copy.given[1]);
  return true;
}

/// As much of the backlog as there is room for. Whether the copy has grown.
bool Mirrors::State::put_away(Copy& copy) {
  if (copy.backlog.empty() || !open(copy)) return false;
  host::KeptOutput& output = *copy.output;
  const Fence fence = copy.subject.fence;
  while (!copy.backlog.empty()) {
    Piece& piece = copy.backlog.front();
    output.pass_over(piece.stream, std::exchange(piece.gap_bytes, 0));
    const std::string_view rest = std::string_view(piece.data).substr(piece.put_bytes);
    const std::size_t put = output.put(piece.stream, rest, around.loop.now());
    piece.put_bytes += put;
    copy.taken_bytes += put;
    if (put < rest.size()) break;
    copy.backlog.pop_front();
  }
  if (auto note = output.take_note()) around.note(*note);
  if (const auto when = output.wake_at(); when && !copy.backlog.empty())
    copy.again = around.loop.at(*when, [this, fence] { touch(fence); });
  const std::array<std::uint64_t, 2> bytes = {output.bytes(wire::OutputStream::out),
                                              output.bytes(wire::OutputStream::err)};
  return std::exchange(copy.bytes, bytes) != bytes;
}

/// The worker has it on disk, so that it may be told before it is on this one.
void Mirrors::State::tell_end(Copy& copy) {
  const MirrorSubject& subject = copy.subject;
  around.attempts.take(wire::from_keeper::Grew{subject.fence, copy.bytes[0], copy.bytes[1], true});
  Outcome outcome = copy.over->outcome.value_or(
      Lost{"peer " + around.name_of(subject.worker) + " does not know what became of it"});
  around.attempts.take(wire::from_keeper::Ended{subject.fence, subject.job, subject.task,
                                                std::move(outcome), copy.over->started_at});
}

void Mirrors::State::sync(Copy& copy) {
  copy.syncing = true;
  const Fence fence = copy.subject.fence;
  auto done = std::make_shared<Status>(success());
  around.pool.submit(
      ticket,
      [kept = folders, cap = around.cap_bytes, output = copy.output, subject = copy.subject,
       over = *copy.over, done]() mutable {
        if (!output) {  // nothing has come to be put into it
          Result<host::KeptOutput> opened = kept.open(subject, cap);
          if (!opened.ok()) {
            *done = std::move(opened).error();
            return;
          }
          output = std::make_shared<host::KeptOutput>(std::move(opened).value());
        }
        *done = kept.complete(*output, subject, over);
        output.reset();
      },
      [this, fence, done] {
        Copy* synced = find(fence);
        if (synced == nullptr) return;
        if (done->ok()) {
          synced->stage = Stage::complete;
          synced->output.reset();
          return;
        }
        around.note("a copy of the output of job " + std::to_string(synced->subject.job.value) +
                    " is not safe on disk yet: " + done->error().message);
        synced->again = around.loop.after(disk_patience, [this, fence] {
          if (Copy* again = find(fence)) sync(*again);
        });
      });
}

}  // namespace gpl::peer
