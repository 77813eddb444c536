#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "explain_cases.h"
#include "gpl/client/explain_json.h"
#include "gpl/core/explain.h"
#include "gpl/core/requirement_text.h"

// GPL_UPDATE_GOLDEN=1 writes tests/cases/explain/NAME.{txt,json} anew. A person reads what changed:
// is the headline right, is each reason true and clear, is the nearest miss the nearest?

namespace {

using gpl::Explanation;
using gpl::Requirement;

std::string folder() { return GPL_TEST_CASES "/explain"; }

bool updating() {
  const char* asked = std::getenv("GPL_UPDATE_GOLDEN");
  return asked != nullptr && std::string_view(asked) == "1";
}

std::vector<ExplainCase> all_cases() {
  std::vector<ExplainCase> all;
  for (const auto& some :
       {simulated::cases_of_devices(), simulated::cases_of_slices(), simulated::cases_of_holds(),
        simulated::cases_of_frameworks(), simulated::cases_of_peers()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

Requirement asked(const std::string& words) {
  gpl::RequirementText text;
  std::istringstream stream(words);
  std::string option;
  while (stream >> option) {
    if (option == "--gpu-share") {
      text.gpu_share = true;
      continue;
    }
    std::string value;
    stream >> value;
    if (option == "--gpus") text.gpus = value;
    if (option == "--gpu") text.gpu = value;
    if (option == "--gpu-memory") text.gpu_memory = value;
    if (option == "--gpu-model") text.gpu_model = value;
    if (option == "--compute-capability") text.compute_capability = value;
    if (option == "--cpus") text.cpus = value;
    if (option == "--memory") text.memory = value;
    if (option == "--framework") text.frameworks.push_back(value);
    if (option == "--environment") text.environment = value;
    if (option == "--on") text.on = value;
    if (option == "--label") text.labels.push_back(value);
  }
  const gpl::Result<Requirement> requirement = gpl::parse_requirement(text);
  REQUIRE_MESSAGE(requirement.ok(), (requirement.ok() ? "" : requirement.error().message));
  return requirement.value();
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void compare(const std::string& path, const std::string& text) {
  if (updating()) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  CHECK(read(path) == text);
}

std::string shown_text(const ExplainCase& each, const Explanation& explanation) {
  const std::string words = each.words.empty() ? "" : each.words + " ";
  return "$ gpl run " + words + "--explain -- CMD\n" + gpl::to_text(explanation);
}

// Read by people too: one member a line.
std::string shown_json(const Explanation& explanation, const Requirement& requirement) {
  const std::string json = gpl::client::explanation_json(explanation, requirement);
  return nlohmann::ordered_json::parse(json).dump(1) + "\n";
}

}  // namespace

TEST_CASE("every explanation reads as a person found it right, as text and as JSON") {
  if (updating()) std::filesystem::create_directories(folder());
  for (const ExplainCase& each : all_cases()) {
    INFO(each.name);
    const Requirement requirement = asked(each.words);
    const Explanation explanation = gpl::explain(requirement, each.peers, simulated::now);
    compare(folder() + "/" + each.name + ".txt", shown_text(each, explanation));
    compare(folder() + "/" + each.name + ".json", shown_json(explanation, requirement));
  }
}

TEST_CASE("each case of explanations has its files, and no file is left of an earlier one") {
  std::set<std::string> wanted;
  for (const ExplainCase& each : all_cases()) {
    CHECK(wanted.insert(each.name + ".txt").second);
    wanted.insert(each.name + ".json");
  }
  CHECK(wanted.size() >= 80);
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    found.insert(entry.path().filename().string());
  }
  CHECK(found == wanted);
}

TEST_CASE("the words that the design fixes are in the explanations") {
  CHECK(read(folder() + "/framework_not_installed.txt").find("framework 'jax' not installed") !=
        std::string::npos);
  CHECK(read(folder() + "/framework_version.txt").find("mlx 0.9.0 does not satisfy >=0.10") !=
        std::string::npos);
  CHECK(read(folder() + "/torch_cuda_without_a_device.txt").find("no CUDA device is usable") !=
        std::string::npos);
}

TEST_CASE("the JSON of an explanation is one line of UTF-8, whatever the words are made of") {
  gpl::Explanation explanation;
  explanation.headline = "a\xff\"b\n";
  const std::string json = gpl::client::explanation_json(explanation, {});
  CHECK(json.find('\n') == std::string::npos);
  CHECK(nlohmann::json::parse(json)["headline"] == "a\xef\xbf\xbd\"b\n");
}
