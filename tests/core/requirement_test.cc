#include "gpl/core/requirement.h"

#include <doctest/doctest.h>

using gpl::AcceleratorKind;
using gpl::Code;
using gpl::FrameworkWish;
using gpl::Requirement;
using gpl::Result;
using gpl::Status;
using gpl::Version;

namespace {

FrameworkWish wish(std::string_view text) {
  const Result<FrameworkWish> parsed = FrameworkWish::parse(text);
  REQUIRE_MESSAGE(parsed.ok(), text);
  return parsed.value();
}

Requirement with_gpus(int gpus) {
  Requirement requirement;
  requirement.gpus = gpus;
  return requirement;
}

std::string refusal(const Requirement& requirement) {
  const Status status = gpl::validate(requirement);
  if (status.ok()) return "";
  CHECK(status.error().code == Code::invalid);
  return status.error().message;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a framework is a normalised package name and version clauses") {
  const FrameworkWish plain = wish("  Scikit_Learn >=1.2, <2");
  CHECK(plain.name == "scikit-learn");
  CHECK_FALSE(plain.backend);
  CHECK(plain.specifiers.to_string() == "<2,>=1.2");
  CHECK(plain.shown_name() == "scikit-learn");
  CHECK(wish("jax").specifiers.empty());
}

TEST_CASE("a kind of device behind a dot asks for a build that can drive it") {
  const FrameworkWish torch = wish("Torch.CUDA>=2");
  CHECK(torch.name == "torch");
  CHECK(torch.backend == AcceleratorKind::cuda);
  CHECK(torch.shown_name() == "torch.cuda");
  CHECK(torch.specifiers.to_string() == ">=2");
  CHECK(wish("jax.mps").backend == AcceleratorKind::mps);
  CHECK(wish("onnxruntime-gpu.rocm").name == "onnxruntime-gpu");
  CHECK(wish("a.b.xpu").name == "a-b");
}

TEST_CASE("any other word behind a dot, and a dash, belong to the package's name") {
  CHECK(wish("zope.interface").name == "zope-interface");
  CHECK_FALSE(wish("zope.interface").backend);
  CHECK(wish("torch-cuda").name == "torch-cuda");
  CHECK_FALSE(wish("torch-cuda").backend);
  CHECK_FALSE(wish("cuda").backend);
}

TEST_CASE("extras say nothing about what is installed") {
  CHECK(wish("jax[cuda12]>=0.4.30") == wish("jax>=0.4.30"));
}

TEST_CASE("what is no package requirement is refused with the column") {
  const Result<FrameworkWish> version = FrameworkWish::parse("torch>=2.x");
  REQUIRE_FALSE(version.ok());
  CHECK(version.error().code == Code::invalid);
  CHECK(has(version.error().message, "column 8"));
  const Result<FrameworkWish> marker = FrameworkWish::parse("torch; python_version<'3'");
  REQUIRE_FALSE(marker.ok());
  CHECK(marker.error().code == Code::unsupported);
  for (const char* text : {"", ".cuda", "torch.", ">=2", "torch.cuda torch.rocm"}) {
    CHECK_FALSE(FrameworkWish::parse(text).ok());
  }
}

TEST_CASE("frameworks and requirements are equal when all they ask is") {
  CHECK(wish("torch>=2,<3") == wish("torch <3, >=2"));
  CHECK_FALSE(wish("torch") == wish("torch.cuda"));
  CHECK_FALSE(wish("torch>=2") == wish("torch>=2.1"));
  Requirement one = with_gpus(1);
  CHECK(one == with_gpus(1));
  one.frameworks = {wish("jax")};
  CHECK_FALSE(one == with_gpus(1));
}

TEST_CASE("an environment is wanted for its frameworks or by its name") {
  Requirement requirement;
  CHECK_FALSE(requirement.wants_environment());
  requirement.environment = "system";
  CHECK(requirement.wants_environment());
  requirement.environment.clear();
  requirement.frameworks = {wish("jax")};
  CHECK(requirement.wants_environment());
}

TEST_CASE("nothing asked makes sense, and so does everything together") {
  CHECK(refusal({}) == "");
  Requirement all = with_gpus(2);
  all.kind = AcceleratorKind::cuda;
  all.gpu_memory_bytes = 1;
  all.gpu_share = true;
  all.gpu_model = "*";
  all.compute_capability = gpl::ComputeCapability{8, 0};
  all.cpus = 1;
  all.memory_bytes = 1;
  all.frameworks = {wish("torch.cuda"), wish("numpy")};
  all.labels = {{"zone", ""}};
  CHECK(refusal(all) == "");
}

TEST_CASE("no GPU, and something of one, contradict each other") {
  Requirement requirement;
  requirement.gpu_memory_bytes = 1;
  CHECK(has(refusal(requirement), "--gpus 0"));
  requirement = {};
  requirement.kind = AcceleratorKind::rocm;
  CHECK(has(refusal(requirement), "--gpus 0"));
  CHECK(has(refusal(with_gpus(-1)), "--gpus"));
}

TEST_CASE("a share of a card has a size") {
  Requirement requirement = with_gpus(1);
  requirement.gpu_share = true;
  CHECK(has(refusal(requirement), "--gpu-share needs --gpu-memory"));
  requirement.gpu_memory_bytes = 0;
  CHECK(has(refusal(requirement), "--gpu-memory"));
}

TEST_CASE("no cpus, no memory and a label without a key are refused") {
  Requirement requirement;
  requirement.cpus = 0;
  CHECK(has(refusal(requirement), "--cpus"));
  requirement = {};
  requirement.memory_bytes = 0;
  CHECK(has(refusal(requirement), "--memory"));
  requirement = {};
  requirement.labels = {{"", "a"}};
  CHECK(has(refusal(requirement), "--label"));
}

TEST_CASE("a framework that drives another kind than the job's devices is refused") {
  Requirement requirement = with_gpus(1);
  requirement.kind = AcceleratorKind::rocm;
  requirement.frameworks = {wish("torch.cuda")};
  CHECK(has(refusal(requirement), "--framework torch.cuda"));
  CHECK(has(refusal(requirement), "--gpu rocm"));
  requirement.kind.reset();
  CHECK(refusal(requirement) == "");
  requirement.frameworks.push_back(wish("jax.rocm"));
  CHECK(has(refusal(requirement), "--framework jax.rocm"));
  requirement.gpus = 0;
  CHECK(refusal(requirement) == "");
}
