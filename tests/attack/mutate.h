#pragma once
#include <random>
#include <string>
#include <vector>

// Changes single fields of a model's files: what a fuzzer that knows only bytes hardly ever gets at.
namespace octet::attack {

using Random = std::mt19937_64;

// Which messages a protobuf file consists of.
enum class Schema { kPaddleProgram, kOnnxModel, kPaddleTensor };

// A file with `count` of its fields changed: numbers, names, lists; fields and messages dropped, doubled,
// swapped, replaced by others of their kind. `words` are texts worth trying (names of ops and attributes).
// What can't be parsed is changed byte by byte.
std::string mutate_protobuf(const std::string& file, Schema schema, int count,
                            const std::vector<std::string>& words, Random& random);
std::string mutate_json(const std::string& file, int count, const std::vector<std::string>& words,
                        Random& random);
// Paddle's parameters: the descriptions of the records (dtype, dims), their values, whole records.
std::string mutate_params(const std::string& file, int count, Random& random);

}  // namespace octet::attack
