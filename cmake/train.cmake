# octet-train, the program that links libtorch; `octet train` starts it. Without libtorch there is none.
set(OCTET_LIBTORCH "" CACHE PATH "The folder `torch` of PyPI's wheel (tools/setup --libtorch); none: octet can't train")
option(OCTET_CUDA "Train on GPUs, too; OCTET_LIBTORCH is then the folder that tools/setup --libtorch-cuda prints" OFF)
if(NOT OCTET_LIBTORCH)
  return()
endif()

add_library(octet_libtorch INTERFACE)
# -idirafter: the wheel carries headers of other libraries (fmt, ...) that must not take the place of the system's.
target_compile_options(octet_libtorch INTERFACE
  "SHELL:-idirafter ${OCTET_LIBTORCH}/include" "SHELL:-idirafter ${OCTET_LIBTORCH}/include/torch/csrc/api/include")
target_link_libraries(octet_libtorch INTERFACE ${OCTET_LIBTORCH}/lib/libtorch_cpu.so ${OCTET_LIBTORCH}/lib/libc10.so)
# What libtorch itself needs stands in other packages, which its own paths find when it is loaded.
target_link_options(octet_libtorch INTERFACE -Wl,--allow-shlib-undefined)
if(OCTET_CUDA)
  # --no-as-needed: nothing refers to it by name; its kernels register themselves when it is loaded.
  target_link_options(octet_libtorch INTERFACE -Wl,--no-as-needed)
  target_link_libraries(octet_libtorch INTERFACE ${OCTET_LIBTORCH}/lib/libtorch_cuda.so ${OCTET_LIBTORCH}/lib/libc10_cuda.so)
  # The toolkit and NCCL are packages beside torch. nvcc is not needed: octet has no kernels of its own.
  cmake_path(GET OCTET_LIBTORCH PARENT_PATH packages)
  foreach(library cu13/lib/libcudart.so.13 nccl/lib/libnccl.so.2)
    if(NOT EXISTS ${packages}/nvidia/${library})
      message(FATAL_ERROR "No ${packages}/nvidia/${library}: run tools/setup cuda, and give -DOCTET_LIBTORCH=$(tools/setup --libtorch-cuda)")
    endif()
    target_link_libraries(octet_libtorch INTERFACE ${packages}/nvidia/${library})
  endforeach()
  target_compile_options(octet_libtorch INTERFACE
    "SHELL:-idirafter ${packages}/nvidia/cu13/include" "SHELL:-idirafter ${packages}/nvidia/nccl/include")
  target_compile_definitions(octet_libtorch INTERFACE OCTET_CUDA)
endif()

file(GLOB OCTET_TRAIN_SOURCES CONFIGURE_DEPENDS src/train/*.cc)
if(NOT OCTET_CUDA)
  list(FILTER OCTET_TRAIN_SOURCES EXCLUDE REGEX "/nccl.cc$")
endif()
list(FILTER OCTET_TRAIN_SOURCES EXCLUDE REGEX "/segmentation_log.cc$")  # octet_cli has it
add_library(octet_training STATIC ${OCTET_TRAIN_SOURCES})
target_link_libraries(octet_training PUBLIC octet_cli octet_libtorch)
target_precompile_headers(octet_training PRIVATE src/train/torch.h)
# As in programs, so that tests can use the same precompiled header.
target_compile_options(octet_training PRIVATE -fPIE)
# Comparisons may set flags that nobody reads: without that GCC leaves the loops over exponentials as they are. Numbers stay the same.
set_source_files_properties(src/train/pixel_loss.cc PROPERTIES COMPILE_OPTIONS -fno-trapping-math)

add_executable(octet_train src/programs/octet_train.cc)
# Installed, it looks beside itself first: `make install WITH_LIBTORCH=1` puts the libraries there.
set_target_properties(octet_train PROPERTIES OUTPUT_NAME octet-train
  INSTALL_RPATH "$ORIGIN/../lib/octet;${OCTET_LIBTORCH}/lib")
target_link_libraries(octet_train PRIVATE octet_training)
if(OCTET_CUDA)
  target_compile_definitions(octet_cli PRIVATE OCTET_CUDA)
endif()
add_dependencies(octet_program octet_train)
