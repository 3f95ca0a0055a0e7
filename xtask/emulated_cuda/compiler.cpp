// The run-time compiler's functions.

#include "emulator.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

extern "C" {

struct Program {
    std::string source, log, library;
};

int nvrtcCreateProgram(Program**, const char*, const char*, int, const char* const*, const char* const*);
int nvrtcDestroyProgram(Program**);
int nvrtcCompileProgram(Program*, int, const char* const*);
int nvrtcGetProgramLogSize(Program*, size_t*);
int nvrtcGetProgramLog(Program*, char*);

}  // extern "C"

namespace {

// The name of the kernel, which follows the attributes of `__global__ void`.
std::string kernel_name(const std::string& source) {
    size_t open = source.find("(\n", source.find("__global__"));
    size_t stop = source.find_last_not_of(' ', open - 1) + 1;
    size_t start = source.find_last_of(" )\n", stop - 1) + 1;
    return source.substr(start, stop - start);
}

// What the driver looks up in a compiled kernel.
std::string entry_points(const std::string& name, const std::string& source) {
    bool waits = false;
    for (const char* call : {"__sync", "_sync(", "wmma::"})
        waits |= source.find(call) != std::string::npos;
    return "\nextern \"C\" const bool emulated_waits = " + std::string(waits ? "true" : "false") +
           ";\nextern \"C\" void emulated_thread(void** arguments) { emulated_call(" + name +
           ", arguments); }\n";
}

// Whether NVIDIA's compiler takes a program, or is not asked; else the program has its log. Burn's products
// of matrices are so many that they would take minutes.
bool nvidia_compiles(Program& program, const std::string& name, std::vector<std::string> options) {
    std::string folder = variable("EMULATED_CUDA_NVIDIA", "");
    if (folder.empty() || name.rfind("matmul_entry", 0) == 0) return true;
    static void* library = [&] {
        for (const auto& entry : std::filesystem::directory_iterator(folder + "/lib"))
            if (entry.path().filename().string().rfind("libnvrtc.so", 0) == 0)
                return dlopen(entry.path().c_str(), RTLD_NOW | RTLD_LOCAL);
        return static_cast<void*>(nullptr);
    }();
    if (!library) {
        program.log = "it is not in EMULATED_CUDA_NVIDIA";
        return false;
    }
    auto function = [&](const char* name, auto* type) {
        return reinterpret_cast<decltype(type)>(dlsym(library, name));
    };
    auto create = function("nvrtcCreateProgram", (decltype(&nvrtcCreateProgram)) nullptr);
    auto compile = function("nvrtcCompileProgram", (decltype(&nvrtcCompileProgram)) nullptr);
    auto log_size = function("nvrtcGetProgramLogSize", (decltype(&nvrtcGetProgramLogSize)) nullptr);
    auto log = function("nvrtcGetProgramLog", (decltype(&nvrtcGetProgramLog)) nullptr);
    auto destroy = function("nvrtcDestroyProgram", (decltype(&nvrtcDestroyProgram)) nullptr);

    std::vector<const char*> pointers;
    for (const std::string& option : options)
        if (option.rfind("--include-path", 0) != 0) pointers.push_back(option.c_str());
    std::string include = "--include-path=" + folder + "/include", cccl = include + "/cccl";
    pointers.insert(pointers.end(), {include.c_str(), cccl.c_str()});
    Program* theirs = nullptr;
    create(&theirs, program.source.c_str(), nullptr, 0, nullptr, nullptr);
    bool compiles = compile(theirs, pointers.size(), pointers.data()) == 0;
    if (!compiles) {
        size_t bytes = 0;
        log_size(theirs, &bytes);
        program.log.resize(bytes);
        log(theirs, program.log.data());
    }
    destroy(&theirs);
    return compiles;
}

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, 0; }
const char* nvrtcGetErrorString(int) { return "an error of the compiler"; }
int nvrtcCreateProgram(Program** program, const char* source, const char*, int, const char* const*,
                       const char* const*) {
    *program = new Program{source, "", ""};
    return 0;
}
int nvrtcDestroyProgram(Program** program) { return delete *program, 0; }

int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
    constexpr int COMPILATION = 6;
    for (const char* word : {"asm", "#include <cuda/"}) {
        if (program->source.find(word) == std::string::npos) continue;
        program->log = "the emulated device knows no PTX";
        return COMPILATION;
    }
    std::string name = kernel_name(program->source);
    std::string source = program->source + entry_points(name, program->source);
    std::string folder = variable("CUDA_PATH", ".");
    std::filesystem::create_directories(folder + "/kernels");
    std::ostringstream hash;
    hash << std::hex << std::hash<std::string>{}(source);
    std::string stem = folder + "/kernels/" + hash.str();
    program->library = stem + ".so";
    if (std::filesystem::exists(program->library)) return 0;

    // Written aside and renamed, since another process may compile the same.
    std::string own = stem + '-' + std::to_string(getpid());
    std::ofstream(own + ".cpp") << source;
    std::filesystem::rename(own + ".cpp", stem + ".cpp");
    if (!nvidia_compiles(*program, name, {options, options + count})) {
        std::fprintf(stderr, "emulated CUDA: NVIDIA's compiler refuses %s\n%s\n",
                     (stem + ".cpp").c_str(), program->log.c_str());
        return COMPILATION;
    }
    std::string command = "g++ -std=c++17 -O2 -w -fPIC -shared -fno-strict-aliasing -I" + folder +
                          "/include -o " + own + ".so " + stem + ".cpp -L" + folder +
                          " -lcuda > " + own + ".log 2>&1";
    int status = std::system(command.c_str());
    std::ifstream log(own + ".log");
    program->log.assign(std::istreambuf_iterator<char>(log), {});
    std::filesystem::remove(own + ".log");
    if (status != 0) return COMPILATION;
    std::filesystem::rename(own + ".so", program->library);
    return 0;
}

int nvrtcGetProgramLogSize(Program* program, size_t* bytes) {
    return *bytes = program->log.size() + 1, 0;
}
int nvrtcGetProgramLog(Program* program, char* log) {
    return std::memcpy(log, program->log.c_str(), program->log.size() + 1), 0;
}
int nvrtcGetPTXSize(Program* program, size_t* bytes) {
    return *bytes = program->library.size() + 1, 0;
}
int nvrtcGetPTX(Program* program, char* path) {
    return std::memcpy(path, program->library.c_str(), program->library.size() + 1), 0;
}

}  // extern "C"
