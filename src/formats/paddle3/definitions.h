#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "formats/paddle3/program.h"

namespace octet::paddle3 {

// Which op makes a value, and what is known of it without a run. Constants and lists are ops in these files,
// where the graph has attributes and slots.
class Definitions {
 public:
  explicit Definitions(const Program& program);

  const Op* maker(Id id) const;       // null: nothing defines it
  std::size_t position(Id id) const;  // of its maker among the ops
  const Op& op(std::size_t position) const;
  const Type& type(Id id) const;  // as the file declares it
  bool is_used(Id id) const;
  // The ops that take a list of results apart: 0.split for all of it, 0.slice for one item. Empty when
  // something else reads it, too.
  std::vector<std::size_t> takers(Id list) const;

  bool is_parameter(Id id) const;  // one with a record in the params file
  bool is_made_by(Id id, std::string_view name) const;

  // Whole numbers that full_int_array, full or assign_value say.
  std::optional<std::vector<std::int64_t>> ints(Id id) const;
  // The one number that full says.
  std::optional<double> number(Id id) const;
  // The values that combine joins.
  std::optional<std::vector<Id>> list(Id id) const;
  // The same, where their numbers are stacked into a vector.
  std::optional<std::vector<Id>> stacked(Id id) const;

  // A file may use a long list any number of times, but only so much is copied.
  void spend(std::size_t count) const;

 private:
  struct Place {
    std::size_t op;
    std::size_t output;
  };
  const Program& program_;
  std::unordered_map<Id, Place> places_;
  std::unordered_map<Id, std::size_t> uses_;  // how many
  std::unordered_map<Id, std::vector<std::size_t>> takers_;
  mutable std::size_t budget_ = 0;
};

// Which item a 0.slice op takes from a list of that many; nothing when it has no such item.
std::optional<std::size_t> item_index(const Op& op, std::size_t items);

}  // namespace octet::paddle3
