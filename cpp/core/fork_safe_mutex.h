// A mutex that a child of fork() finds free, and what it guards whole.
//
// fork() copies a process with one of its threads: a mutex that another thread held would stay locked in the child for ever. So all of
// these are taken before a fork and given back after it, in the parent and in the child. Who forks waits for the calls that are under way.
#pragma once

#include <mutex>

namespace gd {

class ForkSafeMutex {
 public:
  ForkSafeMutex();
  ~ForkSafeMutex();
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

  void lock() { mutex_.lock(); }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

}  // namespace gd
