#include <iostream>

#include "octet/predictor.h"
#include "octet/version.h"

// user [MODEL]: octet's version, and the shape of what MODEL makes of a black picture.
int main(int argc, char** argv) try {
  std::cout << "octet " << octet::version() << '\n';
  if (argc < 2) return 0;
  auto predictor = octet::create_predictor(octet::Config(argv[1]));
  auto input = predictor->get_input_handle(predictor->get_input_names().at(0));
  input->reshape({1, 3, 48, 192});
  input->copy_from_cpu(std::vector<float>(3 * 48 * 192).data());
  predictor->run();
  auto output = predictor->get_output_handle(predictor->get_output_names().at(0));
  for (auto dim : output->shape()) std::cout << dim << ' ';
  std::cout << '\n';
} catch (const octet::Error& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
