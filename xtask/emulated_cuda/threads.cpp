// The threads of a kernel, which take turns: those of a block that wait for each other are fibers.

#include "emulator.h"

#include <algorithm>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include <sys/mman.h>
#include <ucontext.h>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;
alignas(128) unsigned char dynamic_shared_mem[SHARED_BYTES];

namespace {

constexpr size_t STACK = 256 * 1024;

bool last_first() {
    static bool value = variable("EMULATED_CUDA_ORDER", "") == "reverse";
    return value;
}

enum class State { Ready, AtWarp, AtBlock, Returned };

struct Fiber {
    ucontext_t context;
    std::jmp_buf place;
    bool started = false;
    State state = State::Returned;
    uint3 index;
    unsigned number;
    unsigned exchanges;
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

[[noreturn]] void end(const char* reason) {
    std::fprintf(stderr, "emulated CUDA: %s: %s\n", kernel_running->name.c_str(), reason);
    std::abort();
}

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
    if (stack == MAP_FAILED) end("no memory for a thread's stack");
    fiber.context.uc_stack.ss_sp = stack;
    fiber.context.uc_stack.ss_size = STACK;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, live, 0);
    setcontext(&fiber.context);
}

void in_order(unsigned first, unsigned last, const std::function<void(unsigned)>& visit) {
    if (last_first()) {
        for (unsigned i = last; i > first; --i) visit(i - 1);
    } else {
        for (unsigned i = first; i < last; ++i) visit(i);
    }
}

// Runs a warp's threads until each waits for the block or has returned.
void run_warp(unsigned first, unsigned last) {
    for (;;) {
        in_order(first, last, [](unsigned i) {
            if (fibers[i]->state == State::Ready) resume(*fibers[i]);
        });
        bool some_wait = false, some_went_on = false;
        for (unsigned i = first; i < last; ++i) {
            some_wait |= fibers[i]->state == State::AtWarp;
            some_went_on |= fibers[i]->state == State::AtBlock;
        }
        if (!some_wait) return;
        if (some_went_on)
            end("threads of a warp wait at different places");
        for (unsigned i = first; i < last; ++i)
            if (fibers[i]->state == State::AtWarp) fibers[i]->state = State::Ready;
    }
}

void run_block_in_turns(unsigned threads) {
    while (fibers.size() < threads) fibers.push_back(std::make_unique<Fiber>());
    for (unsigned i = 0; i < threads; ++i) {
        Fiber& fiber = *fibers[i];
        fiber.state = State::Ready;
        fiber.number = i;
        fiber.exchanges = 0;
        fiber.index = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
    }
    unsigned count = (threads + WARP - 1) / WARP;
    for (unsigned i = 0; i < count; ++i) std::memset(warps[i].there, 0, sizeof warps[i].there);
    for (;;) {
        in_order(0, count, [&](unsigned warp) {
            run_warp(warp * WARP, std::min(threads, (warp + 1) * WARP));
        });
        bool some_wait = false;
        for (unsigned i = 0; i < threads; ++i) {
            some_wait |= fibers[i]->state == State::AtBlock;
            if (fibers[i]->state == State::AtBlock) fibers[i]->state = State::Ready;
        }
        if (!some_wait) return;
    }
}

void run_block(unsigned shared_bytes) {
    // What a block before left there is no value of this one's.
    std::memset(dynamic_shared_mem, 0xff, shared_bytes);
    unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    if (kernel_running->waits) return run_block_in_turns(threads);
    in_order(0, threads, [&](unsigned i) {
        threadIdx = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
        kernel_running->thread(arguments_running);
    });
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

void emulated_wait_for_block() { leave(State::AtBlock); }
void emulated_wait_for_warp() { leave(State::AtWarp); }

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

extern "C" float* emulated_warp_memory() { return warps[running->number / WARP].memory; }

unsigned emulated_ballot(bool predicate) {
    unsigned place = give(predicate), votes = 0;
    const Warp& warp = warps[running->number / WARP];
    for (unsigned lane = 0; lane < WARP; ++lane)
        if (warp.there[place][lane] && warp.values[place][lane]) votes |= 1u << lane;
    return votes;
}
