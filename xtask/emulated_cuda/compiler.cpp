// The run-time compiler's functions.

#include "emulator.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
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

// From an opening quote or parenthesis to behind the one that closes it.
std::string enclosed(const std::string& source, size_t from) {
    size_t at = from;
    for (int depth = 0;;) {
        char c = source.at(at++);
        if (c == '"') {
            while (source.at(at) != '"') at += source[at] == '\\' ? 2 : 1;
            ++at;
        }
        depth += (c == '(') - (c == ')');
        if (depth == 0) return source.substr(from, at - from);
    }
}

// An instruction of PTX. Set up before what waits at the end of a program for compilations.
const std::regex INSTRUCTION("(?:^|[ {;])([a-z]+[.][a-z0-9_.:]+)");

// The call that does what an `asm` statement would, of which `inside` is what follows the word: of a
// function of `include/ptx.h`, named after the first instruction, with all operands.
std::string call(const std::string& inside) {
    std::string text, operands;
    for (size_t at = 1; at < inside.size() - 1; ++at) {
        if (inside[at] != '"') continue;
        std::string literal = enclosed(inside, at);
        at += literal.size();
        if (inside[at] == '(') {
            std::string operand = enclosed(inside, at);
            operands += (operands.empty() ? "" : ", ") + operand;
            at += operand.size() - 1;
        } else {
            text += literal.substr(1, literal.size() - 2);
        }
    }
    std::smatch found;
    if (!std::regex_search(text, found, INSTRUCTION)) return "unknown_ptx()";
    std::string name = "emulated_" + found[1].str();
    for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    return name + '(' + operands + ')';
}

// Burn's products by `mma.sync` hand their results over in shared memory without waiting for each other:
// they count on the threads of a warp going in step, which they do unless they part. So here they keep
// step at whatever they write to shared memory.
std::string in_step(const std::string& source) {
    std::istringstream lines(source);
    std::string line, text;
    while (std::getline(lines, line)) {
        size_t start = line.find_first_not_of(' ');
        bool writes = start != std::string::npos && line.find(" = ") != std::string::npos &&
                      (line.compare(start, 14, "shared_memory_") == 0 ||
                       line.compare(start, 5, "_tmp_") == 0);
        text += (writes ? "emulated_keep_step(); " + line + " emulated_keep_step();" : line) + '\n';
    }
    return text;
}

// The source without PTX, for a compiler that knows none.
std::string without_ptx(std::string source) {
    if (source.find("mma.sync") != std::string::npos) source = in_step(source);
    for (const char* word : {"asm volatile(", "asm("}) {
        for (size_t at = 0; (at = source.find(word, at)) != std::string::npos;) {
            size_t open = at + std::strlen(word) - 1;
            std::string inside = enclosed(source, open);
            source.replace(at, open + inside.size() - at, call(inside));
        }
    }
    return "#include <ptx.h>\n" + source;
}

// What the driver looks up in a compiled kernel.
std::string entry_points(const std::string& name, const std::string& source) {
    bool waits = false;
    for (const char* call : {"__sync", "_sync(", "cuda::", "emulated_"})
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
    end_in_turn();  // once it is set up
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

// A path as one word for the shell.
std::string in_quotes(const std::string& path) {
    std::string word = "'";
    for (char c : path) word += c == '\'' ? "'\\''" : std::string(1, c);
    return word + '\'';
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

// Does not return an error: what a device lacks, such as shared memory, shows only when a kernel starts.
int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
    if (is_idle()) return 0;
    // Before each, since NVIDIA's compiler may have set up more in the last.
    end_in_turn();
    Turn turn(one_at_a_time);
    std::string name = kernel_name(program->source);
    std::string source = without_ptx(program->source);
    source += entry_points(name, source);
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
        std::abort();
    }
    std::string command = "g++ -std=c++17 -O1 -w -fPIC -shared -fno-strict-aliasing -fsanitize=alignment "
                          "-fsanitize-undefined-trap-on-error -I" + in_quotes(folder + "/include") +
                          " -o " + in_quotes(own + ".so") + ' ' + in_quotes(stem + ".cpp") + " -L" +
                          in_quotes(folder) + " -lcuda > " + in_quotes(own + ".log") + " 2>&1";
    int status = std::system(command.c_str());
    std::ifstream log(own + ".log");
    program->log.assign(std::istreambuf_iterator<char>(log), {});
    std::filesystem::remove(own + ".log");
    if (status != 0) {
        std::fprintf(stderr, "emulated CUDA: cannot compile %s\n%s\n", (stem + ".cpp").c_str(),
                     program->log.c_str());
        std::abort();
    }
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
