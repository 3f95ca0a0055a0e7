// Whether the emulated device multiplies as NVIDIA describes it: a kernel with PTX as CubeCL writes it
// against plain sums. Of what a thread has of a matrix, the places are written out here as in the PTX ISA.
// Whether it refuses launches that a GPU does. And whether a program may end while another thread
// launches kernels, as CubeCL's does.

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

extern "C" {
int nvrtcCreateProgram(void**, const char*, const char*, int, const char* const*, const char* const*);
int nvrtcCompileProgram(void*, int, const char* const*);
int nvrtcGetPTXSize(void*, size_t*);
int nvrtcGetPTX(void*, char*);
int cuModuleLoadData(void**, const void*);
int cuModuleGetFunction(void**, void*, const char*);
int cuLaunchKernel(const void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                   void**, void**);
}

const char* const KERNEL = R"(
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <cooperative_groups.h>
#include <cuda/barrier>
typedef unsigned char uint8;
typedef unsigned int uint32;
typedef unsigned long long int uint64;

inline __device__ void copy(void const *from, void *to, int const &filled) {
  uint64 global = reinterpret_cast<uint64>(from);
  uint32 shared = static_cast<uint32>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared::cta.global [%0], [%1], %2, %3;\n"
               :: "r"(shared), "l"(global), "n"(16), "r"(filled) : "memory");
}
inline __device__ void load(uint32 &r0, uint32 &r1, uint32 &r2, uint32 &r3, void const *row) {
  uint32 addr = static_cast<uint32>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16"
               " {%0, %1, %2, %3}, [%4];"
               : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3)
               : "r"(addr));
}
inline __device__ void load_turned(uint32 &r0, uint32 &r1, void const *row) {
  uint32 addr = static_cast<uint32>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16"
               " {%0, %1}, [%2];"
               : "=r"(r0), "=r"(r1)
               : "r"(addr));
}
inline __device__ void store_turned(uint32 const &r0, uint32 const &r1, void *row) {
  uint32 addr = static_cast<uint32>(__cvta_generic_to_shared(row));
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16"
               " [%0], {%1, %2};"
               :: "r"(addr), "r"(r0), "r"(r1));
}

extern "C" __global__ void __launch_bounds__(32)check (
    const __nv_bfloat16* a, const __nv_bfloat16* b, const float* x, const float* y, float* of_bf16,
    float* of_tf32, __nv_bfloat16* turned) {
extern __shared__ __align__(128) uint8 dynamic_shared_mem[];
auto *shared_a = reinterpret_cast<__nv_bfloat16*>(dynamic_shared_mem);
auto *shared_b = shared_a + 256;
auto *shared_t = shared_b + 128;
auto &bar = reinterpret_cast<cuda::barrier<cuda::thread_scope_block>&>(dynamic_shared_mem[1024]);
const uint32 lane = threadIdx.x, group = lane / 4, place = lane % 4;
if (lane == 0) init(&bar, 32);
__syncthreads();
// The last half of A's last row is not copied, but zero.
copy(a + lane * 8, shared_a + lane * 8, lane < 31 ? 16 : 0);
if (lane < 16) copy(b + lane * 8, shared_b + lane * 8, 16);
uint64 *native = cuda::device::barrier_native_handle(bar);
uint32 arrives = static_cast<uint32>(__cvta_generic_to_shared(native));
asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];\n" :: "r"(arrives));
bar.wait(bar.arrive());
uint32 a0, a1, a2, a3, b0, b1;
load(a0, a1, a2, a3, shared_a + (lane % 16) * 16 + lane / 16 * 8);
load_turned(b0, b1, shared_b + lane % 16 * 8);
float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
             " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
             : "=f"(c0), "=f"(c1), "=f"(c2), "=f"(c3)
             : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "f"(c0), "f"(c1), "f"(c2), "f"(c3));
const uint32 first = group * 8 + place * 2;
of_bf16[first] = c0; of_bf16[first + 1] = c1; of_bf16[first + 64] = c2; of_bf16[first + 65] = c3;
store_turned(b0, b1, shared_t + lane % 16 * 8);
for (uint32 i = lane; i < 128; i += 32) turned[i] = shared_t[i];

c0 = c1 = c2 = c3 = 1;
auto bits = [](float const &value) { return reinterpret_cast<uint32 const&>(value); };
asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
             " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
             : "=f"(c0), "=f"(c1), "=f"(c2), "=f"(c3)
             : "r"(bits(x[group * 8 + place])), "r"(bits(x[(group + 8) * 8 + place])),
               "r"(bits(x[group * 8 + place + 4])), "r"(bits(x[(group + 8) * 8 + place + 4])),
               "r"(bits(y[place * 8 + group])), "r"(bits(y[(place + 4) * 8 + group])),
               "f"(c0), "f"(c1), "f"(c2), "f"(c3));
of_tf32[first] = c0; of_tf32[first + 1] = c1; of_tf32[first + 64] = c2; of_tf32[first + 65] = c3;
}
)";

// Whole numbers, which all types have: no two places are alike.
float element(int place) { return float(place * 37 % 101 - 50); }
unsigned short bf16(float value) {
    unsigned bits;
    std::memcpy(&bits, &value, 4);
    return bits >> 16;
}

int main() {
    void *program = nullptr, *module = nullptr, *kernel = nullptr;
    nvrtcCreateProgram(&program, KERNEL, nullptr, 0, nullptr, nullptr);
    const char* architecture = "--gpu-architecture=sm_90a";
    if (nvrtcCompileProgram(program, 1, &architecture) != 0) return 1;
    size_t bytes = 0;
    nvrtcGetPTXSize(program, &bytes);
    std::string image(bytes, ' ');
    nvrtcGetPTX(program, image.data());
    if (cuModuleLoadData(&module, image.data()) != 0) return 1;
    if (cuModuleGetFunction(&kernel, module, "check") != 0) return 1;

    static float x[128], y[64], of_bf16[128], of_tf32[128];
    alignas(16) static unsigned short a[256], b[128], turned[128];
    for (int i = 0; i < 256; ++i) a[i] = bf16(element(i));
    for (int i = 0; i < 128; ++i) b[i] = bf16(element(i + 7)), x[i] = element(i + 11);
    for (int i = 0; i < 64; ++i) y[i] = element(i + 13);
    static const void* pointers[] = {a, b, x, y, of_bf16, of_tf32, turned};
    static void* arguments[7];
    for (int i = 0; i < 7; ++i) arguments[i] = &pointers[i];
    auto launch = [kernel] {
        return cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 1040, nullptr, arguments, nullptr);
    };
    if (launch() != 0) return 1;

    int wrong = 0;
    const unsigned refused[][2][3] = {{{1, 65536, 1}, {32, 1, 1}}, {{1, 0, 1}, {32, 1, 1}}, {{1, 1, 1}, {8, 1, 65}}};
    for (auto& [grid, block] : refused)
        wrong += cuLaunchKernel(kernel, grid[0], grid[1], grid[2], block[0], block[1], block[2], 1040, nullptr,
                                arguments, nullptr) == 0;
    for (int row = 0; row < 16; ++row) {
        for (int column = 0; column < 8; ++column) {
            float sum = 0, sum_of_tf32 = 1;
            for (int k = 0; k < 16; ++k) {
                bool copied = row < 15 || k < 8;
                sum += copied ? element(row * 16 + k) * element(k * 8 + column + 7) : 0;
            }
            for (int k = 0; k < 8; ++k)
                sum_of_tf32 += element(row * 8 + k + 11) * element(k * 8 + column + 13);
            int place = row * 8 + column;
            wrong += of_bf16[place] != sum;
            wrong += of_tf32[place] != sum_of_tf32;
            wrong += turned[place] != b[place];
        }
    }
    std::printf("%d wrong\n", wrong);

    static std::atomic<bool> launches = false;
    std::thread([launch] {
        while (launch() == 0) launches = true;
    }).detach();
    while (!launches) std::this_thread::yield();
    return wrong != 0;
}
