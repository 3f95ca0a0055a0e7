// The threads of a kernel, which take turns: those of a block that wait for each other are fibers.

#include "emulator.h"

#include <algorithm>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include <sys/mman.h>
#include <ucontext.h>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;
alignas(128) unsigned char dynamic_shared_mem[SHARED_BYTES];
unsigned emulated_shared_bytes;

namespace {

constexpr size_t STACK = 256 * 1024;

enum class State { Ready, InStep, AtWarp, AtBlock, AtBarrier, Returned };

struct Copy {
    void* to;
    const void* from;
    unsigned bytes, zeros;
};

struct Fiber {
    ucontext_t context;
    std::jmp_buf place;
    bool started = false;
    State state = State::Returned;
    uint3 index;
    unsigned number;
    unsigned exchanges;
    // Where it is `AtBarrier`, and the phase whose end it awaits.
    const emulated_barrier* barrier;
    unsigned phase;
    std::vector<Copy> copies;
};

// What the lanes of a warp exchange. The last three exchanges are kept: a thread may be one ahead of
// another, and clears its own place for the next.
struct Warp {
    uint64_t values[3][WARP];
    bool there[3][WARP];
    // Two matrices, of at most 32 by 16 elements.
    float memory[2 * 512];
};

std::vector<std::unique_ptr<Fiber>> fibers;
Warp warps[MOST_THREADS / WARP];
std::jmp_buf scheduler;
Fiber* running;
const Kernel* kernel_running;
void** arguments_running;

void leave(State state) {
    running->state = state;
    if (!_setjmp(running->place)) _longjmp(scheduler, 1);
}

// A fiber runs one thread after another, block after block.
void live() {
    for (;;) {
        kernel_running->thread(arguments_running);
        leave(State::Returned);
    }
}

void resume(Fiber& fiber) {
    running = &fiber;
    threadIdx = fiber.index;
    if (_setjmp(scheduler)) return;
    if (fiber.started) _longjmp(fiber.place, 1);
    fiber.started = true;
    getcontext(&fiber.context);
    void* stack = mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED) emulated_end("no memory for a thread's stack");
    fiber.context.uc_stack.ss_sp = stack;
    fiber.context.uc_stack.ss_size = STACK;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, live, 0);
    setcontext(&fiber.context);
}

// Whether some of the threads wait so.
bool some(unsigned first, unsigned last, State state) {
    return std::any_of(fibers.begin() + first, fibers.begin() + last,
                       [state](const auto& fiber) { return fiber->state == state; });
}

void release(unsigned first, unsigned last, State state) {
    for (unsigned i = first; i < last; ++i)
        if (fibers[i]->state == state) fibers[i]->state = State::Ready;
}

// Lets threads go on whose barrier has turned, and tells whether there are any.
bool release_from_barriers(unsigned first, unsigned last) {
    bool released = false;
    for (unsigned i = first; i < last; ++i) {
        Fiber& fiber = *fibers[i];
        if (fiber.state != State::AtBarrier || fiber.barrier->phase == fiber.phase) continue;
        fiber.state = State::Ready;
        released = true;
    }
    return released;
}

// The place of `i` among those from `first` to `last` in the order in which they run: every second block
// goes from the last to the first, so that a value that is read before another thread has written it is
// seen whichever of the two comes first.
unsigned in_order(unsigned i, unsigned first, unsigned last) {
    return (blockIdx.x + blockIdx.y + blockIdx.z) % 2 ? first + (last - 1 - i) : i;
}

// Runs a warp's threads until each waits for the block, for a barrier, for others of the warp that do so,
// or has returned.
void run_warp(unsigned first, unsigned last) {
    for (;;) {
        for (unsigned i = first; i < last; ++i) {
            Fiber& fiber = *fibers[in_order(i, first, last)];
            if (fiber.state == State::Ready) resume(fiber);
        }
        if (release_from_barriers(first, last)) continue;
        if (some(first, last, State::InStep)) {
            release(first, last, State::InStep);
            continue;
        }
        if (some(first, last, State::AtBarrier) || !some(first, last, State::AtWarp)) return;
        if (some(first, last, State::AtBlock))
            emulated_end("threads of a warp wait at different places");
        release(first, last, State::AtWarp);
    }
}

void run_block_in_turns(unsigned threads) {
    while (fibers.size() < threads) fibers.push_back(std::make_unique<Fiber>());
    for (unsigned i = 0; i < threads; ++i) {
        Fiber& fiber = *fibers[i];
        fiber.state = State::Ready;
        fiber.number = i;
        fiber.exchanges = 0;
        fiber.copies.clear();
        fiber.index = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
    }
    unsigned count = (threads + WARP - 1) / WARP;
    for (unsigned i = 0; i < count; ++i) std::memset(warps[i].there, 0, sizeof warps[i].there);
    for (;;) {
        for (unsigned i = 0; i < count; ++i) {
            unsigned warp = in_order(i, 0, count);
            run_warp(warp * WARP, std::min(threads, (warp + 1) * WARP));
        }
        if (release_from_barriers(0, threads)) continue;
        if (some(0, threads, State::AtBarrier))
            emulated_end("threads wait at a barrier at which too few arrive");
        if (!some(0, threads, State::AtBlock)) return;
        release(0, threads, State::AtBlock);
    }
}

void run_block(unsigned shared_bytes) {
    // What a block before left there is no value of this one's.
    std::memset(dynamic_shared_mem, 0xff, shared_bytes);
    emulated_shared_bytes = shared_bytes;
    unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    if (kernel_running->waits) return run_block_in_turns(threads);
    for (unsigned place = 0; place < threads; ++place) {
        unsigned i = in_order(place, 0, threads);
        threadIdx = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
        kernel_running->thread(arguments_running);
    }
}

}  // namespace

void run(const Kernel& kernel, dim3 grid, dim3 block, unsigned shared_bytes, void** arguments) {
    gridDim = grid;
    blockDim = block;
    kernel_running = &kernel;
    arguments_running = arguments;
    for (blockIdx.z = 0; blockIdx.z < grid.z; ++blockIdx.z)
        for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y)
            for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x) run_block(shared_bytes);
}

void emulated_end(const char* reason) {
    std::fprintf(stderr, "emulated CUDA: %s: %s\n", kernel_running->name.c_str(), reason);
    std::abort();
}

void emulated_wait_for_block() { leave(State::AtBlock); }
void emulated_wait_for_warp() { leave(State::AtWarp); }
void emulated_keep_step() { leave(State::InStep); }
void emulated_wait_for_phase(const emulated_barrier* barrier, unsigned phase) {
    running->barrier = barrier;
    running->phase = phase;
    if (barrier->phase == phase) leave(State::AtBarrier);
}

void emulated_copy_later(void* to, const void* from, unsigned bytes, unsigned zeros) {
    std::memset(to, 0xff, bytes + zeros);
    running->copies.push_back({to, from, bytes, zeros});
}
void emulated_copy_now() {
    for (const Copy& copy : running->copies) {
        std::memcpy(copy.to, copy.from, copy.bytes);
        std::memset(static_cast<char*>(copy.to) + copy.bytes, 0, copy.zeros);
    }
    running->copies.clear();
}

namespace {

// Gives a value to the warp, waits for the others' and returns which of the warp's three places holds it.
unsigned give(uint64_t value) {
    Warp& warp = warps[running->number / WARP];
    unsigned lane = running->number % WARP, place = running->exchanges++ % 3;
    warp.values[place][lane] = value;
    warp.there[place][lane] = true;
    warp.there[(place + 1) % 3][lane] = false;
    leave(State::AtWarp);
    return place;
}

}  // namespace

unsigned long long emulated_exchange(unsigned long long value, unsigned source) {
    unsigned place = give(value);
    const Warp& warp = warps[running->number / WARP];
    return warp.there[place][source] ? warp.values[place][source] : ~0ull;
}

float* emulated_warp_memory() { return warps[running->number / WARP].memory; }

unsigned emulated_ballot(bool predicate) {
    unsigned place = give(predicate), votes = 0;
    const Warp& warp = warps[running->number / WARP];
    for (unsigned lane = 0; lane < WARP; ++lane)
        if (warp.there[place][lane] && warp.values[place][lane]) votes |= 1u << lane;
    return votes;
}
