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

// Shared memory of the one block that runs, and how much of it the block has.
extern unsigned char dynamic_shared_mem[];
extern "C" unsigned emulated_shared_bytes;

// Ends the process, since a kernel did what a GPU forbids or leaves open.
extern "C" [[noreturn]] void emulated_end(const char* reason);

// Waits until every thread of the block waits so, or has returned.
extern "C" void emulated_wait_for_block();
// Waits until every thread of the warp waits so, or has returned.
extern "C" void emulated_wait_for_warp();
// Lets the others of the warp go as far, where they come by, too.
extern "C" void emulated_keep_step();
// Gives `value` to the warp's other threads and returns that of `source`, a lane; all bits are set where
// no thread of that lane is there.
extern "C" unsigned long long emulated_exchange(unsigned long long value, unsigned source);
// A bit for each lane that calls it with `predicate`.
extern "C" unsigned emulated_ballot(bool predicate);
// Memory that a warp's threads share, and that no kernel knows of.
extern "C" float* emulated_warp_memory();

// A barrier in shared memory, which has room for 8 bytes. Its phase ends when all that it expects have
// arrived and all bytes that it was told of have been copied.
struct emulated_barrier {
    unsigned long long expected : 20, pending : 20, phase : 1;
    long long bytes : 23;

    void begin(unsigned count) {
        expected = pending = count;
        phase = bytes = 0;
    }
    // Returns the phase in which it arrived.
    unsigned arrive(unsigned count) {
        if (count > pending) emulated_end("more arrive at a barrier than it expects");
        unsigned now = phase;
        pending -= count;
        turn();
        return now;
    }
    void expect(unsigned more) { bytes += more; }
    void copied(unsigned count) {
        bytes -= count;
        turn();
    }
    void turn() {
        if (pending != 0 || bytes != 0) return;
        pending = expected;
        phase ^= 1;
    }
};
static_assert(sizeof(emulated_barrier) == 8);
// Waits until the barrier's phase is another one.
extern "C" void emulated_wait_for_phase(const emulated_barrier* barrier, unsigned phase);

// Copies `bytes` to shared memory when the thread calls `emulated_copy_now`, and zeros behind them; until
// then what is there is NaN.
extern "C" void emulated_copy_later(void* to, const void* from, unsigned bytes, unsigned zeros);
extern "C" void emulated_copy_now();
