// Binary encoding of structs by a list of their members. One list serves both directions.
//
//   struct Point {
//     int64_t x = 0;
//     int64_t y = 0;
//     static constexpr auto BinaryMembers() { return std::tuple(&Point::x, &Point::y); }
//   };
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "services/base/binary.h"

namespace pitwall::history {

// Encoding of a type without BinaryMembers: either kMembers, or the functions Put(value, out) and
// Take(in, value).
template <typename T>
struct BinaryFields;

// Returns the members in the order of their encoding.
template <typename T>
constexpr auto BinaryMembersOf() {
  if constexpr (requires { T::BinaryMembers(); }) {
    return T::BinaryMembers();
  } else if constexpr (requires { BinaryFields<T>::kMembers; }) {
    return BinaryFields<T>::kMembers;
  } else {
    return std::tuple();
  }
}

// Encodes a value. Numbers are varints, enumerations and flags take one byte, and containers start
// with the number of their elements.
template <typename T>
void Put(const T& value, BinaryWriter* out) {
  if constexpr (std::is_same_v<T, bool>) {
    out->Bool(value);
  } else if constexpr (std::is_enum_v<T>) {
    out->U8(static_cast<uint8_t>(value));
  } else if constexpr (std::signed_integral<T>) {
    out->I64(value);
  } else if constexpr (std::unsigned_integral<T>) {
    out->U64(value);
  } else if constexpr (std::is_same_v<T, double>) {
    out->Double(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    out->Str(value);
  } else if constexpr (constexpr auto kMembers = BinaryMembersOf<T>();
                       std::tuple_size_v<decltype(kMembers)> > 0) {
    std::apply([&](auto... member) { (Put(value.*member, out), ...); }, kMembers);
  } else {
    BinaryFields<T>::Put(value, out);
  }
}

template <typename T>
void Take(BinaryReader* in, T* value) {
  if constexpr (std::is_same_v<T, bool>) {
    *value = in->Bool();
  } else if constexpr (std::is_enum_v<T>) {
    *value = static_cast<T>(in->U8());
  } else if constexpr (std::signed_integral<T>) {
    *value = static_cast<T>(in->I64());
  } else if constexpr (std::unsigned_integral<T>) {
    *value = static_cast<T>(in->U64());
  } else if constexpr (std::is_same_v<T, double>) {
    *value = in->Double();
  } else if constexpr (std::is_same_v<T, std::string>) {
    *value = in->Str();
  } else if constexpr (constexpr auto kMembers = BinaryMembersOf<T>();
                       std::tuple_size_v<decltype(kMembers)> > 0) {
    std::apply([&](auto... member) { (Take(in, &(value->*member)), ...); }, kMembers);
  } else {
    BinaryFields<T>::Take(in, value);
  }
}

template <typename A, typename B>
struct BinaryFields<std::pair<A, B>> {
  static constexpr std::tuple kMembers = {&std::pair<A, B>::first, &std::pair<A, B>::second};
};

template <typename T>
struct BinaryFields<std::optional<T>> {
  static void Put(const std::optional<T>& value, BinaryWriter* out) {
    out->Bool(value.has_value());
    history::Put(value.value_or(T()), out);
  }
  static void Take(BinaryReader* in, std::optional<T>* value) {
    const bool has_value = in->Bool();
    history::Take(in, &value->emplace());
    if (!has_value) value->reset();
  }
};

template <typename T>
struct BinaryFields<std::vector<T>> {
  static void Put(const std::vector<T>& values, BinaryWriter* out) {
    out->U64(values.size());
    for (const T& value : values) history::Put(value, out);
  }
  static void Take(BinaryReader* in, std::vector<T>* values) {
    values->clear();
    for (size_t left = in->Count(); left > 0 && in->ok(); --left)
      history::Take(in, &values->emplace_back());
  }
};

template <>
struct BinaryFields<std::vector<int64_t>> {
  static void Put(const std::vector<int64_t>& values, BinaryWriter* out) { out->I64s(values); }
  static void Take(BinaryReader* in, std::vector<int64_t>* values) { in->I64s(values); }
};

template <>
struct BinaryFields<std::vector<double>> {
  static void Put(const std::vector<double>& values, BinaryWriter* out) { out->Doubles(values); }
  static void Take(BinaryReader* in, std::vector<double>* values) { *values = in->Doubles(); }
};

template <typename K, typename V>
struct BinaryFields<std::map<K, V>> {
  static void Put(const std::map<K, V>& values, BinaryWriter* out) {
    out->U64(values.size());
    for (const auto& [key, value] : values) {
      history::Put(key, out);
      history::Put(value, out);
    }
  }
  static void Take(BinaryReader* in, std::map<K, V>* values) {
    values->clear();
    for (size_t left = in->Count(); left > 0 && in->ok(); --left) {
      K key;
      history::Take(in, &key);
      history::Take(in, &(*values)[std::move(key)]);
    }
  }
};

}  // namespace pitwall::history
