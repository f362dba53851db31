// Preloaded by test_fault_injection.py: an operator new that fails once, at a chosen allocation from now on.
#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<long> countdown{-1};

extern "C" void fail_after(long allocations) { countdown.store(allocations); }
extern "C" long allocations_left() { return countdown.load(); }

static void* allocate(std::size_t size) {
  if (countdown.load(std::memory_order_relaxed) >= 0 && countdown.fetch_sub(1) == 0) throw std::bad_alloc();
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
