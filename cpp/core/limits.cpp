#include "limits.h"

#include <chrono>
#include <ctime>
#include <string>

#include "errors.h"

#ifndef GD_SLOWNESS
#define GD_SLOWNESS 1  // how many times slower this build is than one for use: CMakeLists.txt says so of those with sanitizers
#endif

namespace gd {
namespace {

// Processor time, so that a busy machine refuses nothing that an idle one takes; the clock on the wall where there is none.
double thread_seconds() {
#ifdef CLOCK_THREAD_CPUTIME_ID
  timespec now{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0) {
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }
#endif
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

void Work::look() {
  const double now = thread_seconds();
  left_ = kStepsBetweenLooks;
  if (begun_ == kNotYet) {
    begun_ = now;
  } else if (now - begun_ > GD_SLOWNESS * seconds_) {
    std::string seconds = std::to_string(seconds_);
    seconds.erase(seconds.find_last_not_of('0') + 1);
    if (seconds.back() == '.') seconds.pop_back();
    throw LimitError(limit_, "it takes more than " + seconds + " seconds of processor time");
  }
}

}  // namespace gd
