#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "services/base/system/files.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/codec/imports/formats/formats.h"
#include "services/codec/imports/testing/collected_samples.h"

namespace pitwall::imports {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Bytes(uint64_t value, size_t size) {
  std::string out;
  for (size_t i = 0; i < size; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
  return out;
}

std::string Masked(std::string_view bytes) {
  const uint32_t crc = Crc32c(bytes);
  return Bytes(((crc >> 15) | (crc << 17)) + 0xa282ead8u, 4);
}

std::string Record(std::string_view event) {
  const std::string length = Bytes(event.size(), 8);
  return Cat(length, Masked(length), event, Masked(event));
}

// Returns a length-delimited field of at most 127 bytes.
std::string Field(int number, std::string_view bytes) {
  return Cat(std::string(1, static_cast<char>(number << 3 | 2)),
             std::string(1, static_cast<char>(bytes.size())), bytes);
}

std::string Fixed(int number, uint64_t bits, size_t size) {
  return Cat(std::string(1, static_cast<char>(number << 3 | (size == 8 ? 1 : 5))),
             Bytes(bits, size));
}

std::string Simple(std::string_view tag, float value) {
  return Cat(Field(1, tag), Fixed(2, std::bit_cast<uint32_t>(value), 4));
}

// Returns the record of an event with one value. The step is below 128.
std::string Event(double seconds, int step, std::string_view value) {
  return Record(Cat(Fixed(1, std::bit_cast<uint64_t>(seconds), 8), "\x10",
                    std::string(1, static_cast<char>(step)), Field(5, Field(1, value))));
}

class TensorBoardTest : public ::testing::Test {
 protected:
  // Reads a file in pieces of the given size.
  Status ReadOne(const std::string& path, std::string_view bytes, size_t piece = 1 << 20) {
    if (importer_ == nullptr) {
      const auto made = FindFormat("tensorboard")
                            ->configure([](std::string_view) { return std::nullopt; }, "job");
      importer_ = (*made)("run", &samples_);
    }
    RETURN_IF_ERROR(importer_->BeginFile(path, std::nullopt));
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
      RETURN_IF_ERROR(importer_->Feed(bytes.substr(0, piece)));
    return importer_->EndFile(false);
  }

  // Returns the number of samples whose text contains `part`.
  size_t Count(std::string_view part) const {
    const std::vector<std::string> all = samples_.Of("");
    return static_cast<size_t>(std::count_if(
        all.begin(), all.end(),
        [part](const std::string& sample) { return sample.find(part) != std::string::npos; }));
  }

  TestSamples samples_;
  std::unique_ptr<Importer> importer_;
};

// Written by tensorboardX 2.6.5: three steps of two scalars, an evaluation, and a text.
TEST_F(TensorBoardTest, RealFile_InAnyPieces_HasScalars) {
  const auto bytes = ReadFile("services/codec/imports/testdata/tensorboardx.tfevents.bin");
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  for (const size_t piece : {size_t{1}, size_t{7}, bytes->size()}) {
    importer_.reset();
    samples_ = TestSamples();
    ASSERT_TRUE(ReadOne("run/events.out.tfevents.1.vm", *bytes, piece).ok());
    EXPECT_TRUE(importer_->Finish().ok());
    EXPECT_EQ(samples_.size(), 7u) << piece;
    EXPECT_EQ(Count("train_loss"), 4u);
    EXPECT_EQ(Count(" eval @"), 1u);
    EXPECT_EQ(Count("Loss_generator"), 3u);
    EXPECT_EQ(Count("#20 1"), 2u);  // a loss of 1, and one of 1.25 in the evaluation
  }
}

TEST_F(TensorBoardTest, KnownTags_BecomePitwallSeries) {
  std::string file;
  for (const char* tag : {"train/loss", "val_loss", "Accuracy", "lr", "grad-norm", "1/Loss G"})
    file += Event(1.5, 3, Simple(tag, 0.5f));
  ASSERT_TRUE(ReadOne("run/events.out.tfevents.1.vm", file).ok());
  std::vector<std::string> names;
  for (const std::string& sample : samples_.Of("")) {
    EXPECT_THAT(sample, HasSubstr(" @1500ms #3 0.5"));
    names.push_back(sample.substr(0, sample.find(" @")));
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre(
                         HasSubstr("train_loss"), HasSubstr("train_loss"),
                         HasSubstr("train_accuracy"), HasSubstr("train_learning_rate"),
                         HasSubstr("train_grad_norm"), HasSubstr("_1_Loss_G")));
  EXPECT_EQ(std::count_if(names.begin(), names.end(),
                          [](const std::string& name) { return EndsWith(name, " eval"); }),
            1);
}

TEST_F(TensorBoardTest, SecondTagOfSameSeries_HasItsOwnName) {
  ASSERT_TRUE(ReadOne("run/events.out.tfevents.1.vm", Event(1, 1, Simple("loss", 1)) +
                                                          Event(1, 1, Simple("train/loss", 2)) +
                                                          Event(2, 2, Simple("loss", 3)))
                  .ok());
  EXPECT_EQ(samples_.size(), 3u);
  EXPECT_EQ(Count("train_loss"), 3u);
  EXPECT_EQ(Count("train_loss_2"), 1u);  // the own name of train/loss would be train_loss, too
  EXPECT_EQ(Count("#1 2"), 1u);
}

TEST_F(TensorBoardTest, Folder_GivesMode) {
  ASSERT_TRUE(
      ReadOne("run/validation/events.out.tfevents.1.vm", Event(1, 1, Simple("loss", 1))).ok());
  ASSERT_EQ(samples_.size(), 1u);
  EXPECT_THAT(samples_.Of("").front(), HasSubstr(" eval @"));
}

TEST_F(TensorBoardTest, Tensors_OnlyScalarsAreRead) {
  const std::string type_float("\x08\x01", 2), type_text("\x08\x07", 2);
  const std::string one = Bytes(std::bit_cast<uint32_t>(2.5f), 4);
  const auto tensor = [](const std::string& fields) {
    return Cat(Field(1, "loss"), Field(8, fields));
  };
  ASSERT_TRUE(ReadOne("run/events.out.tfevents.1.vm",
                      Event(1, 1, tensor(type_float + Field(4, one))) +
                          Event(2, 2, tensor(type_float + Field(5, one))) +
                          Event(3, 3, tensor(type_float + Field(5, one + one))) +
                          Event(4, 4, tensor(type_text + Field(8, "text"))))
                  .ok());
  EXPECT_EQ(samples_.size(), 2u);
  for (const std::string& sample : samples_.Of("")) EXPECT_THAT(sample, HasSubstr(" 2.5"));
}

TEST_F(TensorBoardTest, DamagedRecords_AreSkipped) {
  const std::string good = Event(1, 1, Simple("loss", 1));
  std::string bad = Event(2, 2, Simple("loss", 2));
  bad[20] = static_cast<char>(bad[20] ^ 1);
  const std::string late = Event(3, 3, Simple("loss", 3));
  ASSERT_TRUE(ReadOne("a.tfevents.1", good + bad + late + good.substr(0, 9)).ok());
  EXPECT_EQ(samples_.size(), 2u);
  const Status other = ReadOne("b.tfevents.1", "this is not an event file at all");
  EXPECT_TRUE(absl::IsInvalidArgument(other));
  EXPECT_THAT(std::string(other.message()), HasSubstr("b.tfevents.1: record 1: the checksum"));
  EXPECT_TRUE(importer_->Finish().ok());
}

TEST_F(TensorBoardTest, LongRecord_IsPassedOver) {
  const std::string image = Record(std::string(3 << 20, 'x'));
  ASSERT_TRUE(
      ReadOne("a.tfevents.1", image + Event(3, 3, Simple("loss", 3)), size_t{1} << 16).ok());
  EXPECT_EQ(samples_.size(), 1u);
}

TEST_F(TensorBoardTest, InvalidTimes_AreSkipped) {
  EXPECT_TRUE(absl::IsInvalidArgument(ReadOne(
      "a.tfevents.1", Event(-1, 1, Simple("loss", 1)) + Event(1e300, 1, Simple("loss", 1)))));
  EXPECT_THAT(samples_.Of(""), IsEmpty());
}

}  // namespace
}  // namespace pitwall::imports
