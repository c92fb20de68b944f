#include "base/folder.h"

#include <gmock/gmock.h>

#include "support/graph_runner.h"
#include "support/temp_dir.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Folder, ListsWhatIsThereAndBelow) {
  TempDir dir;
  std::filesystem::create_directories(dir / "b/c");
  std::filesystem::create_directories(dir / ".hidden");
  for (const char* name : {"a", "b/c/d", ".hidden/e", "b/.f"}) write_file(dir / name, "");
  std::filesystem::create_directory_symlink("..", dir / "b/round");
  EXPECT_THAT(list_folder(dir.path()), ElementsAre(dir / ".hidden", dir / "a", dir / "b"));
  EXPECT_THAT(list_files_below(dir.path()), ElementsAre(dir / "a", dir / "b/c/d"));
  EXPECT_THAT(testing::error_of([&] { list_folder(dir / "none"); }),
              HasSubstr("none: cannot read the folder"));
}

}  // namespace
}  // namespace octet
