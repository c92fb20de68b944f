#include <gmock/gmock.h>

#include "data/dataset.h"
#include "support/run_program.h"
#include "support/temp_dir.h"
#include "tipc/lite_data.h"
#include "tipc/sample_config.h"

namespace octet::tipc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(TipcLiteData, IsADataSetOfSeveralClasses) {
  TempDir dir;
  write_lite_data(dir / "lite_data");
  for (const char* split : {"train", "val"}) {
    const Dataset dataset = open_dataset(dir / "lite_data", split);
    EXPECT_THAT(dataset.classes, ElementsAre("checks", "discs", "rings", "stripes"));
    EXPECT_EQ(dataset.entries.size(), 16u);
    for (const Entry& entry : dataset.entries) {
      EXPECT_EQ(entry.path.extension(), ".jpg");
      EXPECT_GE(dataset.load(entry).image.width, 256);
    }
  }
}

TEST(TipcLiteData, PicturesDifferAndRepeat) {
  EXPECT_EQ(draw_lite_picture(2, 3).pixels, draw_lite_picture(2, 3).pixels);
  EXPECT_NE(draw_lite_picture(2, 3).pixels, draw_lite_picture(2, 4).pixels);
  EXPECT_NE(draw_lite_picture(1, 3).pixels, draw_lite_picture(2, 3).pixels);
}

struct TipcPrepare : testing::Test {
  ProgramResult prepare(const std::string& config, const std::string& mode) {
    write_file(dir / "c.txt", config);
    return run_octet({"tipc", "prepare", "c.txt", mode}, dir.path());
  }
  TempDir dir;
};

TEST_F(TipcPrepare, MakesWhatIsMissing) {
  ProgramResult result = prepare(sample_train_config(), "lite_train_lite_infer");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("drew lite_data: 4 classes, 16 pictures each in train and val\n"));
  EXPECT_THAT(result.out, HasSubstr("ready: c.txt lite_train_lite_infer\n"));
  EXPECT_LT(std::filesystem::file_size(dir / "lite_data.tar"), 20u << 20);
  EXPECT_EQ(open_dataset(dir / "data", "val").entries.size(), 16u);
  EXPECT_GE(load_image(dir / "images/demo.jpg").width, 256);
  EXPECT_EQ(prepare(sample_train_config(), "lite_train_lite_infer").out,
            "ready: c.txt lite_train_lite_infer\n");
}

TEST_F(TipcPrepare, UnpacksAnArchiveThatIsThere) {
  prepare(sample_train_config(), "lite_train_lite_infer");
  std::filesystem::remove_all(dir / "lite_data/train");
  EXPECT_EQ(run_shell("tar -zcf lite_data.tar lite_data && rm -r lite_data", dir.path()).exit_code, 0);
  EXPECT_EQ(prepare(sample_train_config(), "lite_train_lite_infer").exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(dir / "lite_data/val"));
  EXPECT_FALSE(std::filesystem::exists(dir / "lite_data/train"));
}

TEST_F(TipcPrepare, SaysWhichModelIsMissing) {
  EXPECT_THAT(
      prepare(sample_ptq_config(), "whole_infer").err,
      HasSubstr(
          "./net_infer/ is missing, and octet can't make it: it has no network net; put the model there"));
  EXPECT_THAT(prepare(sample_train_config(), "whole_infer").err, HasSubstr("./net.pdparams is missing"));
  write_file(dir / "net.pdparams", "");
  EXPECT_EQ(prepare(sample_train_config(), "whole_infer").exit_code, 0);
}

}  // namespace
}  // namespace octet::tipc
