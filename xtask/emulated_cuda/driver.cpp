// The driver's functions, in the order of its reference. Everything is done at once, by one thread at a
// time, so streams and events have nothing to do.

#include "emulator.h"
#include "include/tensor_map.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>

#include <dlfcn.h>
#include <sys/mman.h>

std::mutex one_at_a_time;

void end_in_turn() {
    std::atexit([] {
        static bool ended = false;
        if (!ended) one_at_a_time.lock();
        ended = true;
    });
}

namespace {

constexpr int SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_FOUND = 500;
const size_t MEMORY = size_t(4) << 30;
// Of an allocation, what is filled: the pools of CubeCL begin with pages whose ends few runs reach.
constexpr size_t FILLED = 64 << 20;

int architecture() {
    static int value = std::stoi(variable("EMULATED_CUDA_ARCHITECTURE", "90"));
    return value;
}

// What a program did, told at its end.
struct Counts {
    size_t launches = 0, uploads = 0, downloads = 0, waits = 0;
    ~Counts() {
        if (variable("EMULATED_CUDA_COUNTS", "").empty()) return;
        std::fprintf(stderr,
                     "emulated CUDA: %zu launches, %zu uploads, %zu downloads, %zu waits\n",
                     launches, uploads, downloads, waits);
    }
} counts;

std::map<void*, size_t> allocations;
size_t allocated;

int allocate(void** pointer, size_t bytes) {
    Turn turn(one_at_a_time);
    if (allocated + bytes > MEMORY) return OUT_OF_MEMORY;
    void* memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return OUT_OF_MEMORY;
    if (!is_idle()) std::memset(memory, 0xff, std::min(bytes, FILLED));
    allocations[memory] = bytes;
    allocated += bytes;
    *pointer = memory;
    return SUCCESS;
}

int release(void* pointer) {
    Turn turn(one_at_a_time);
    auto found = allocations.find(pointer);
    if (found == allocations.end()) return INVALID_VALUE;
    munmap(pointer, found->second);
    allocated -= found->second;
    allocations.erase(found);
    return SUCCESS;
}

struct Copy2D {
    size_t source_x, source_y;
    unsigned source_type;
    const void* source_host;
    char* source_device;
    void* source_array;
    size_t source_pitch;
    size_t target_x, target_y;
    unsigned target_type;
    void* target_host;
    char* target_device;
    void* target_array;
    size_t target_pitch;
    size_t width_in_bytes, height;
};

// Whether the accelerator can read a tensor, as the driver's reference has it.
bool describe(emulated_tensor_map& map, unsigned type, unsigned rank, void* elements,
              const uint64_t* sizes, const uint64_t* strides, const unsigned* steps, int interleave,
              unsigned swizzle, bool nan) {
    constexpr unsigned char BYTES[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    if (type >= sizeof BYTES || rank < 1 || rank > 5 || interleave != 0 || swizzle > 3) return false;
    map = {};
    map.elements = static_cast<unsigned char*>(elements);
    map.rank = rank;
    map.bytes = BYTES[type];
    map.swizzle = swizzle;
    map.nan = nan;
    bool fits = reinterpret_cast<uintptr_t>(elements) % 16 == 0;
    for (unsigned d = 0; d < rank; ++d) {
        map.sizes[d] = sizes[d];
        map.steps[d] = steps[d];
        fits &= sizes[d] > 0 && sizes[d] <= uint64_t(1) << 32 && steps[d] > 0 && steps[d] <= 8;
        if (d == 0) continue;
        map.strides[d - 1] = strides[d - 1];
        fits &= strides[d - 1] % 16 == 0 && strides[d - 1] < uint64_t(1) << 40;
    }
    return fits;
}

// Whether what a box has of the innermost dimension is as long as it may be.
bool inner_fits(const emulated_tensor_map& map) {
    unsigned bytes = map.box[0] * map.bytes;
    return bytes > 0 && bytes % 16 == 0 && (map.swizzle == 0 || bytes <= 16u << map.swizzle);
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return end_in_turn(), SUCCESS; }
int cuDriverGetVersion(int* version) { return *version = 13000, SUCCESS; }
int cuDeviceGetCount(int* count) { return *count = 1, SUCCESS; }
int cuDeviceGet(int* device, int index) {
    return index == 0 ? (*device = 0, SUCCESS) : INVALID_VALUE;
}
int cuDeviceGetName(char* name, int length, int) {
    std::snprintf(name, length, "emulated sm_%d", architecture());
    return SUCCESS;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = MEMORY, SUCCESS; }
int cuDeviceGetAttribute(int* value, int attribute, int) {
    static const std::map<int, int> known = {
        {1, MOST_THREADS},                   // threads in a block
        {2, MOST_THREADS_ALONG[0]}, {3, MOST_THREADS_ALONG[1]}, {4, MOST_THREADS_ALONG[2]},
        {5, MOST_BLOCKS[0]}, {6, MOST_BLOCKS[1]}, {7, MOST_BLOCKS[2]},
        {10, WARP},
        {16, 132},                           // multiprocessors
        {75, architecture() / 10}, {76, architecture() % 10},
        {97, SHARED_BYTES},                    // shared memory of a block that opts in
    };
    auto found = known.find(attribute);
    if (found == known.end()) return *value = 0, SUCCESS;
    return *value = found->second, SUCCESS;
}
int cuDevicePrimaryCtxRetain(void** context, int) { return *context = &allocations, SUCCESS; }
int cuDevicePrimaryCtxRelease_v2(int) { return SUCCESS; }
int cuCtxSetCurrent(void*) { return SUCCESS; }
int cuCtxSynchronize() { return SUCCESS; }

int cuMemGetInfo_v2(size_t* free, size_t* total) {
    Turn turn(one_at_a_time);
    *free = MEMORY - allocated;
    *total = MEMORY;
    return SUCCESS;
}
int cuMemAlloc_v2(void** pointer, size_t bytes) { return allocate(pointer, bytes); }
int cuMemAllocAsync(void** pointer, size_t bytes, void*) { return allocate(pointer, bytes); }
int cuMemFree_v2(void* pointer) { return release(pointer); }
int cuMemFreeAsync(void* pointer, void*) { return release(pointer); }
int cuMemAllocHost_v2(void** pointer, size_t bytes) {
    *pointer = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    return *pointer ? SUCCESS : OUT_OF_MEMORY;
}
int cuMemFreeHost(void* pointer) { return std::free(pointer), SUCCESS; }
int cuMemcpyHtoDAsync_v2(void* target, const void* source, size_t bytes, void*) {
    Turn turn(one_at_a_time);
    ++counts.uploads;
    return std::memcpy(target, source, bytes), SUCCESS;
}
int cuMemcpyDtoHAsync_v2(void* target, const void* source, size_t bytes, void*) {
    Turn turn(one_at_a_time);
    ++counts.downloads;
    // Whatever lay there, since no kernel wrote it.
    if (is_idle()) return std::memset(target, 0, bytes), SUCCESS;
    return std::memcpy(target, source, bytes), SUCCESS;
}
int cuMemcpyDtoDAsync_v2(void* target, const void* source, size_t bytes, void*) {
    Turn turn(one_at_a_time);
    return std::memcpy(target, source, bytes), SUCCESS;
}
int cuMemcpy2DAsync_v2(const Copy2D* copy, void*) {
    Turn turn(one_at_a_time);
    constexpr unsigned HOST = 1;
    counts.uploads += copy->source_type == HOST;
    counts.downloads += copy->target_type == HOST;
    auto source = copy->source_type == HOST ? static_cast<const char*>(copy->source_host)
                                            : copy->source_device;
    auto target = copy->target_type == HOST ? static_cast<char*>(copy->target_host)
                                            : copy->target_device;
    for (size_t row = 0; row < copy->height; ++row) {
        auto from = source + (copy->source_y + row) * copy->source_pitch + copy->source_x;
        auto to = target + (copy->target_y + row) * copy->target_pitch + copy->target_x;
        if (is_idle()) std::memset(to, 0, copy->width_in_bytes);
        else std::memcpy(to, from, copy->width_in_bytes);
    }
    return SUCCESS;
}

int cuStreamCreate(void** stream, unsigned) { return *stream = new char, SUCCESS; }
int cuStreamSynchronize(void*) { return ++counts.waits, SUCCESS; }
int cuStreamWaitEvent(void*, void*, unsigned) { return SUCCESS; }
int cuStreamDestroy_v2(void* stream) { return delete static_cast<char*>(stream), SUCCESS; }
int cuEventCreate(void** event, unsigned) { return *event = new char, SUCCESS; }
int cuEventRecord(void*, void*) { return SUCCESS; }
int cuEventSynchronize(void*) { return ++counts.waits, SUCCESS; }
int cuEventQuery(void*) { return SUCCESS; }
int cuEventDestroy_v2(void* event) { return delete static_cast<char*>(event), SUCCESS; }

// A module is a library that `compiler.cpp` has made; what the driver is given is its path.
int cuModuleLoadData(void** module, const void* image) {
    Turn turn(one_at_a_time);
    if (is_idle()) return *module = &allocations, SUCCESS;
    *module = dlopen(static_cast<const char*>(image), RTLD_NOW | RTLD_LOCAL);
    if (*module) return SUCCESS;
    std::fprintf(stderr, "emulated CUDA: %s\n", dlerror());
    std::abort();
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
    auto kernel = std::make_unique<Kernel>();
    kernel->name = name;
    if (is_idle()) return *function = kernel.release(), SUCCESS;
    kernel->thread = reinterpret_cast<void (*)(void**)>(dlsym(module, "emulated_thread"));
    auto waits = static_cast<const bool*>(dlsym(module, "emulated_waits"));
    if (!kernel->thread || !waits) return NOT_FOUND;
    kernel->waits = *waits;
    *function = kernel.release();
    return SUCCESS;
}
int cuModuleUnload(void*) { return SUCCESS; }
int cuFuncSetAttribute(void*, int, int) { return SUCCESS; }
int cuLaunchKernel(const Kernel* kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   void*, void** arguments, void**) {
    Turn turn(one_at_a_time);
    auto fits = [](uint64_t x, uint64_t y, uint64_t z, const unsigned (&most)[3]) {
        return 0 < x && x <= most[0] && 0 < y && y <= most[1] && 0 < z && z <= most[2];
    };
    if (!fits(grid_x, grid_y, grid_z, MOST_BLOCKS) ||
        !fits(block_x, block_y, block_z, MOST_THREADS_ALONG) ||
        uint64_t(block_x) * block_y * block_z > MOST_THREADS || shared_bytes > SHARED_BYTES)
        return INVALID_VALUE;
    ++counts.launches;
    if (is_idle()) return SUCCESS;
    run(*kernel, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, arguments);
    return SUCCESS;
}

int cuTensorMapEncodeTiled(emulated_tensor_map* map, unsigned type, unsigned rank, void* elements,
                           const uint64_t* sizes, const uint64_t* strides, const unsigned* box,
                           const unsigned* steps, int interleave, unsigned swizzle, int, int nan) {
    bool fits = describe(*map, type, rank, elements, sizes, strides, steps, interleave, swizzle, nan);
    for (unsigned d = 0; d < rank && fits; ++d) {
        map->box[d] = box[d];
        fits = box[d] > 0 && box[d] <= 256;
    }
    return fits && inner_fits(*map) ? SUCCESS : INVALID_VALUE;
}
int cuTensorMapEncodeIm2col(emulated_tensor_map* map, unsigned type, unsigned rank, void* elements,
                            const uint64_t* sizes, const uint64_t* strides, const int* first,
                            const int* last, unsigned channels, unsigned pixels,
                            const unsigned* steps, int interleave, unsigned swizzle, int, int nan) {
    bool fits = describe(*map, type, rank, elements, sizes, strides, steps, interleave, swizzle, nan) &&
                rank >= 3 && channels <= 256 && pixels <= 1024;
    for (unsigned d = 0; d + 2 < rank && fits; ++d) {
        map->first[d] = first[d];
        map->last[d] = last[d];
    }
    map->box[0] = channels;
    map->box[1] = pixels;
    return fits && inner_fits(*map) ? SUCCESS : INVALID_VALUE;
}

int cuGetErrorName(int, const char** text) { return *text = "an emulated error", SUCCESS; }
int cuGetErrorString(int, const char** text) { return *text = "an emulated error", SUCCESS; }

}  // extern "C"
