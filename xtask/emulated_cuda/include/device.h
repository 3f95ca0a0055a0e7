// What the compiled kernels and the driver share: where a thread is, and where it waits.
#pragma once

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
};
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }

// The position of the one thread that runs: threads take turns, so these need no copies.
extern "C" uint3 threadIdx, blockIdx;
extern "C" dim3 blockDim, gridDim;

// Shared memory of the one block that runs.
extern unsigned char dynamic_shared_mem[];

// Waits until every thread of the block waits here, or has returned.
extern "C" void emulated_wait_for_block();
// Waits until every thread of the warp waits here, or has returned.
extern "C" void emulated_wait_for_warp();
// Gives `value` to the warp's other threads and returns that of `source`, a lane; all bits are set where
// no thread of that lane is there.
extern "C" unsigned long long emulated_exchange(unsigned long long value, unsigned source);
// A bit for each lane that calls it with `predicate`.
extern "C" unsigned emulated_ballot(bool predicate);
