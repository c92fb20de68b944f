#include "cli/output.h"
#include "cli/program.h"

[[maybe_unused]] static const bool kHasTables = octet::cli::make_tables();

int main(int argc, char** argv) {
  octet::cli::start_program();
  return octet::cli::exit_code_of(
      [&] {
        return octet::cli::run_program({argv + (argc > 0), argv + argc});
      },
      octet::cli::print_error);
}
