// rewrite_tool IN OUT: loads a model and saves it with every op, variable and parameter written anew from the
// graph, none copied from the original bytes. The tests compare what real Paddle makes of both.
#include <cstdio>

#include "formats/format.h"

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: rewrite_tool IN OUT\n"), 2;
  try {
    octet::Graph graph = octet::load_model(argv[1]);
    auto keep_alive = graph.source;
    graph.source = nullptr;
    octet::Model(std::make_shared<const octet::Graph>(std::move(graph))).save(argv[2]);
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "rewrite_tool: %s\n", error.what()), 2;
  }
}
