#pragma once
#include <algorithm>
#include <string_view>
#include <vector>

#define PROTOZERO_USE_VIEW std::string_view
#include <protozero/exception.hpp>

#include "base/error.h"

namespace octet {

// protozero asserts that a field has the type that it is read as, and that is up to the file.
[[noreturn]] inline void wrong_wire_type() {
  throw protozero::unknown_pbf_wire_type_exception();
}

}  // namespace octet

#define protozero_assert(holds) ((holds) ? void() : ::octet::wrong_wire_type())
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

// What the readers of protobuf files share. Those of octet's formats keep views of the mapped file.
namespace octet {

// Names go into messages, which are one line, and onto terminals.
inline std::string_view get_name(protozero::pbf_reader& in) {
  std::string_view name = in.get_view();
  if (std::any_of(name.begin(), name.end(), [](char c) {
        auto code = static_cast<unsigned char>(c);
        return code < ' ' || code == 127;
      }))
    fail("it has a name with control characters in it; it is damaged");
  return name;
}

// Repeated numbers come one by one or packed, whatever the schema says.
template <class T, class One, class Packed>
void append_repeated(protozero::pbf_reader& in, std::vector<T>& out, One one, Packed packed) {
  if (in.wire_type() == protozero::pbf_wire_type::length_delimited) {
    for (auto value : (in.*packed)()) out.push_back(static_cast<T>(value));
  } else {
    out.push_back(static_cast<T>((in.*one)()));
  }
}

// Appends the field that `in` has just been moved to, tag included; it begins at `start`.
inline void keep_field(protozero::pbf_reader& in, const char* start, std::string& out) {
  in.skip();
  out.append(start, static_cast<std::size_t>(in.data().data() - start));
}

}  // namespace octet
