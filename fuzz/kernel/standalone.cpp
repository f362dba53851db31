// A driver for compilers without libFuzzer: runs the files of a corpus, then mutations of them by a fixed seed, without any guidance by
// coverage. It understands the few options of libFuzzer that the Makefile uses.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" __attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed);

namespace {

std::mt19937_64 random_bits;
uint64_t below(uint64_t limit) { return limit == 0 ? 0 : random_bits() % limit; }

using Bytes = std::vector<uint8_t>;

std::string artifact_prefix;

void run(const Bytes& input) {
  {  // kept before it runs: what crashes is the last one written
    std::ofstream last(artifact_prefix + "crash-last", std::ios::binary | std::ios::trunc);
    last.write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
  }
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size) {
  for (uint64_t rounds = 1 + below(5); rounds > 0; --rounds) {
    const uint64_t kind = below(5);
    if (kind == 0 && size < max_size) {
      data[size++] = static_cast<uint8_t>(below(256));
    } else if (kind == 1 && size > 1) {
      const uint64_t at = below(size);
      std::copy(data + at + 1, data + size, data + at);
      --size;
    } else if (kind == 2 && size > 1) {
      const uint64_t length = 1 + below(std::min<uint64_t>(size - 1, 32));
      std::copy_n(Bytes(data, data + size).begin() + static_cast<std::ptrdiff_t>(below(size - length)), length,
                  data + below(size - length));
    } else if (size > 0) {
      data[below(size)] = static_cast<uint8_t>(kind == 3 ? below(256) : below(4) * 85);
    }
  }
  return size;
}

int main(int argc, char** argv) {
  constexpr size_t kMostBytes = 4096;
  std::vector<Bytes> corpus;
  double seconds = 10;
  size_t most_runs = SIZE_MAX;  // the same inputs every time, however fast the machine is
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("-max_total_time=", 0) == 0) seconds = std::stod(argument.substr(16));
    if (argument.rfind("-artifact_prefix=", 0) == 0) artifact_prefix = argument.substr(17);
    if (argument.rfind("-runs=", 0) == 0) most_runs = std::stoul(argument.substr(6));
    if (argument.rfind('-', 0) == 0) continue;
    std::vector<std::filesystem::path> paths;
    if (std::filesystem::is_regular_file(argument)) paths.emplace_back(argument);
    if (std::filesystem::is_directory(argument)) {
      for (const auto& entry : std::filesystem::directory_iterator(argument)) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
      std::ifstream file(path, std::ios::binary);
      corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  }
  if (corpus.empty()) corpus.push_back({0});
  std::printf("no libFuzzer: mutations without guidance by coverage, seed 1\n");
  random_bits.seed(1);
  const auto begun = std::chrono::steady_clock::now();
  size_t runs = 0;
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(); };
  for (const Bytes& input : corpus) run(input), ++runs;
  while (runs < most_runs && elapsed() < seconds) {
    Bytes input = corpus[below(corpus.size())];
    size_t size = input.size();
    input.resize(std::max(kMostBytes, size + 64));
    size = LLVMFuzzerCustomMutator != nullptr
               ? LLVMFuzzerCustomMutator(input.data(), size, input.size(), static_cast<unsigned int>(random_bits()))
               : LLVMFuzzerMutate(input.data(), size, input.size());
    input.resize(size);
    run(input);
    ++runs;
  }
  std::printf("Done %zu runs in %.0f second(s)\n", runs, elapsed());
  return 0;
}
