// An NVIDIA driver and run-time compiler for a device that does not exist: kernels are compiled by the C++
// compiler of the machine (`compiler.cpp`) and run on its CPU, one thread after another (`threads.cpp`).
// They have as much of the two libraries as CubeCL calls.
//
// Some of what a GPU leaves open is an error here: memory that nothing has written is full of NaN, in the
// first 64 MiB of an allocation, and the process ends where some threads of a warp wait for the warp and
// others for the block, or too few arrive at a barrier. Threads that wait for the same at different places
// of a kernel go on: where a thread waits is not known. The process also ends where a kernel does not
// compile: autotune would go on with others.
//
// Environment:
// - CUDA_PATH: the folder of the libraries and of `include`; compiled kernels are kept there
// - EMULATED_CUDA_ARCHITECTURE: such as 60, which has no tensor cores (default 90)
// - EMULATED_CUDA_NVIDIA: a folder with NVIDIA's own compiler, `lib/libnvrtc.so.*` and `include`, which
//   must compile kernels, too
// - EMULATED_CUDA_COUNTS: if set, a program ends by telling its launches, copies and waits
// - EMULATED_CUDA_IDLE: if set, kernels are neither compiled nor run and the host reads zeros, so that a
//   run takes what it takes of the host
#pragma once

#include "include/device.h"

#include <cstdlib>
#include <mutex>
#include <string>

constexpr unsigned MOST_THREADS = 1024;
constexpr unsigned MOST_THREADS_ALONG[] = {1024, 1024, 64};
constexpr unsigned MOST_BLOCKS[] = {0x7fffffff, 65535, 65535};
constexpr unsigned WARP = 32;
constexpr unsigned SHARED_BYTES = 227 * 1024;

inline std::string variable(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value ? value : otherwise;
}

// Whether kernels do nothing.
inline bool is_idle() {
    static const bool idle = !variable("EMULATED_CUDA_IDLE", "").empty();
    return idle;
}

struct Kernel {
    std::string name;
    // Runs the thread at `threadIdx`.
    void (*thread)(void** arguments);
    // Whether its threads wait for each other.
    bool waits;
};

// One thread at a time uses the device.
extern std::mutex one_at_a_time;
using Turn = std::lock_guard<std::mutex>;

// Lets a program that ends wait for what other threads have begun here, and nothing begin after that: what
// it would need is taken down. This holds for what is set up before the call.
void end_in_turn();

// Runs a kernel to its end.
void run(const Kernel& kernel, dim3 grid, dim3 block, unsigned shared_bytes, void** arguments);
