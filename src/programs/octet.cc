#include "cli/program.h"

int main(int argc, char** argv) {
  octet::cli::start_program();
  return octet::cli::run_program({argv + (argc > 0), argv + argc});
}
