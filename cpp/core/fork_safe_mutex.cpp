#include "fork_safe_mutex.h"

#include <unordered_set>

#ifndef _WIN32
#include <pthread.h>

#include <chrono>
#include <thread>
#endif

namespace gd {
namespace {

struct All {
  std::mutex mutex;  // of the set
  std::unordered_set<ForkSafeMutex*> set;
};

// Never destroyed: grammars that live until the process ends unregister after static objects are gone.
All& all() {
  static All* const instance = new All;
  return *instance;
}

#ifndef _WIN32

bool try_lock_all() {
  all().mutex.lock();
  auto locked = all().set.begin();
  for (; locked != all().set.end(); ++locked) {
    if (!(*locked)->try_lock()) break;
  }
  if (locked == all().set.end()) return true;
  for (auto taken = all().set.begin(); taken != locked; ++taken) (*taken)->unlock();
  all().mutex.unlock();
  return false;
}

void unlock_all() {
  for (ForkSafeMutex* mutex : all().set) mutex->unlock();
  all().mutex.unlock();
}

// Not in any order, so it takes them all at once or none. It comes to an end: whoever forks from Python holds the interpreter's lock, so
// that every other thread stops behind the call that it is in.
void before_fork() {
  while (!try_lock_all()) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

[[maybe_unused]] const bool registered = pthread_atfork(before_fork, unlock_all, unlock_all) == 0;

#endif

}  // namespace

ForkSafeMutex::ForkSafeMutex() {
  const std::lock_guard lock(all().mutex);
  all().set.insert(this);
}

ForkSafeMutex::~ForkSafeMutex() {
  const std::lock_guard lock(all().mutex);
  all().set.erase(this);
}

}  // namespace gd
