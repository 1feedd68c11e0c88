// Reads and writes .safetensors files, for a machine that stores numbers little end first.
//
//   8 bytes    the length of the header
//   header     {"name": {"dtype": "F64", "shape": [2, 3], "data_offsets": [begin, end]}, ...}
//   the rest   the arrays, the last axis running fastest; the offsets count from here
//
// Every number becomes a double. What can't be read throws a std::runtime_error.
#pragma once
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

using Lengths = std::vector<std::size_t>;

struct Tensor {
    Lengths shape;
    std::vector<double> data;
    explicit Tensor(Lengths lengths) : shape(std::move(lengths)), data(
        std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>())) {}
};

class Tensors {
  public:
    explicit Tensors(const std::string &path) {
        std::ifstream file(path, std::ios::binary);
        const std::string whole{std::istreambuf_iterator<char>(file), {}};
        std::uint64_t length = 0;
        if (whole.size() >= 8) std::memcpy(&length, whole.data(), 8);
        if (whole.size() < 8 || length > whole.size() - 8) throw std::runtime_error(path + ": none, or cut");
        header_ = whole.substr(8, length), data_ = whole.substr(8 + length);
    }
    Tensor get(const std::string &name) const {
        // There are no blanks between the parts; a quote inside another text has a backslash before it.
        const auto at = header_.find("\"" + name + "\":");
        if (at == std::string::npos) throw std::runtime_error("no " + name + " in the file");
        const std::string entry = header_.substr(at, header_.find('}', at) - at);
        const std::string dtype = part(entry, "\"dtype\"\\s*:\\s*\"(\\w+)\"");
        const Lengths ends = numbers(part(entry, "\"data_offsets\"\\s*:\\s*\\[([^\\]]*)\\]"));
        Tensor made(numbers(part(entry, "\"shape\"\\s*:\\s*\\[([^\\]]*)\\]")));
        const std::size_t width = dtype == "BOOL" ? 1 : dtype == "F32" ? 4 : 8;
        if (ends.size() != 2 || ends[1] > data_.size() || ends[1] - ends[0] != made.data.size() * width)
            throw std::runtime_error(name + " isn't whole, or of another type");
        for (std::size_t n = 0; n < made.data.size(); n++) {
            const char *place = &data_[ends[0] + n * width];
            made.data[n] = dtype == "F64" ? as<double>(place) : dtype == "F32" ? as<float>(place)
                : dtype == "I64" ? static_cast<double>(as<std::int64_t>(place)) : dtype == "BOOL" ? *place != 0
                : throw std::runtime_error(name + " is of the type " + dtype);
        }
        return made;
    }

  private:
    std::string header_, data_;
    template <class Number> static Number as(const char *place) {
        Number number;
        return std::memcpy(&number, place, sizeof number), number;
    }
    static std::string part(const std::string &entry, const char *pattern) {
        std::smatch found;
        if (!std::regex_search(entry, found, std::regex(pattern))) throw std::runtime_error(entry + ": damaged");
        return found[1];
    }
    static Lengths numbers(const std::string &text) {
        const std::regex number("\\d+");
        Lengths found;
        for (std::sregex_iterator at(text.begin(), text.end(), number), end; at != end; ++at)
            found.push_back(std::stoull(at->str()));
        return found;
    }
};

inline void write_tensors(const std::string &path, const std::map<std::string, Tensor> &tensors) {
    std::string json, data;
    for (const auto &[name, tensor] : tensors) {
        json += (json.empty() ? "{\"" : ",\"") + name + "\":{\"dtype\":\"F64\",\"shape\":[";
        for (auto length : tensor.shape) json += std::to_string(length) + ",";
        if (!tensor.shape.empty()) json.pop_back();
        json += "],\"data_offsets\":[" + std::to_string(data.size()) + ",";
        data.append(reinterpret_cast<const char *>(tensor.data.data()), 8 * tensor.data.size());
        json += std::to_string(data.size()) + "]}";
    }
    json.append("}").append((8 - json.size() % 8) % 8, ' ');  // the arrays begin at a multiple of 8
    const std::uint64_t length = json.size();
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char *>(&length), 8) << json << data;
    if (!file.flush()) throw std::runtime_error(path + " can't be written");
}
