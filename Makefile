# Wraps the CMake presets (CMakePresets.json). `make help` lists what there is.
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local

BUILD = cmake --build -j $(JOBS) --preset
# The Python tests are registered when CMake knows the Python that has Paddle, the fuzz run when it knows the targets.
CONFIGURE = cmake --preset release --log-level=WARNING -DOCTET_LIBTORCH=$$(tools/setup --libtorch)
TEST_OPTIONS = -DOCTET_PYTHON=$$(tools/setup --python) -DOCTET_ONNX_PYTHON=$$(tools/setup --onnx-python) -DOCTET_FUZZ_BUILD=$(CURDIR)/build/fuzz

.PHONY: help setup build cuda test test-tipc test-paddle3 onnx-conformance onnx-models quickstart quickstart-seg read-page bench bench-peers bench-accuracy bench-ocr bench-onnx bench-train bench-infer format lint sanitize asan tsan attack coverage neon fuzz install clean

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## make setup        install what is missing (apt, and a Python environment outside the clone)
setup:
	@tools/setup onnx

## make build        build/release/octet
build:
	@tools/setup build
	@$(CONFIGURE)
	@$(BUILD) release --target octet_program octet

## make cuda         build/cuda/octet, which also trains on NVIDIA's GPUs (3 GB to download)
cuda:
	@tools/setup cuda
	@cmake --preset cuda --log-level=WARNING -DOCTET_LIBTORCH=$$(tools/setup --libtorch-cuda)
	@$(BUILD) cuda --target octet_program octet

## make test         everything: unit tests, parity with Paddle, style, install, two minutes of fuzzing and attacks
test: setup
	@$(CONFIGURE) $(TEST_OPTIONS)
	@cmake --preset fuzz --log-level=WARNING
	@$(BUILD) release
	@$(BUILD) fuzz
	@ctest --test-dir build/release -j $(JOBS) --output-on-failure -LE '^(tipc|releases)$$'

## make test-paddle3  Paddle's new files in Paddle 3.0, 3.1, 3.2 and 3.3 (700 MB to download, then some minutes)
test-paddle3: setup
	@$(CONFIGURE) $(TEST_OPTIONS)
	@$(BUILD) release --target octet_program octet_rewrite_tool octet_paddle3_ops_tool
	@ctest --test-dir build/release --output-on-failure -R '^(paddle_paddle3|paddle3_(networks|releases|onnx))$$'

## make test-tipc    the chains of test_tipc as they are written: train, evaluate, export, infer; quantize, infer (ten minutes)
test-tipc: setup
	@$(CONFIGURE) $(TEST_OPTIONS)
	@$(BUILD) release
	@ctest --test-dir build/release --output-on-failure -L '^(tipc|chain)$$'

## make onnx-conformance  the node tests of the onnx package, in octet and in ONNX Runtime
onnx-conformance: setup
	@$(CONFIGURE) $(TEST_OPTIONS)
	@$(BUILD) release --target octet_batch_tool
	@OCTET_BATCH_TOOL=build/release/octet_batch_tool $$(tools/setup --onnx-python) tests/onnx/conformance.py $(ONNX)

## make onnx-models  whole models that others made, and torchvision's, in octet and in ONNX Runtime (4 GB to download, then half an hour)
onnx-models: setup
	@$(CONFIGURE) $(TEST_OPTIONS)
	@$(BUILD) release --target octet_batch_tool
	@OCTET_BATCH_TOOL=build/release/octet_batch_tool $$(tools/setup --onnx-python) tests/onnx/models.py $(ONNX)

## make quickstart   trains a network on Fashion-MNIST, exports it, quantizes it and compares the two; some minutes
quickstart: setup build
	@tools/quickstart build/release/octet

## make quickstart-seg  trains BiSeNetV2 on made pictures, exports it, quantizes it and compares the two; some minutes
quickstart-seg: setup build
	@tools/quickstart_seg build/release/octet

## make read-page    the real PP-OCR models read a photographed page
read-page: setup build
	@$$(tools/setup --python) tools/read_page build/release/octet

## make bench        micro-benchmarks of the kernels
bench: setup
	@cmake --preset release --log-level=WARNING -DOCTET_BENCH=ON
	@$(BUILD) release --target octet_bench
	@build/release/octet_bench

## make bench-peers  octet against OpenVINO, ONNX Runtime, Paddle, ncnn and MNN; writes bench/results/peers-vnni.md or peers-avx2.md
bench-peers:
	@bench/peers/run $(PEERS)

## make bench-accuracy  int8 models of octet, ONNX Runtime, NNCF and PaddleSlim, and the time it takes to make them; PICTURES=DIR has
##                   labelled pictures and list.txt; writes bench/results/accuracy.md
bench-accuracy:
	@bench/accuracy/run $(if $(PICTURES),--pictures $(PICTURES)) $(ACCURACY)

## make bench-ocr   PP-OCRv4 in int8 against fp32 on rendered lines and pages: what it finds and reads, how fast; writes bench/results/ocr.md
bench-ocr:
	@bench/ocr/run $(OCR)

## make bench-onnx  int8 of ONNX models that others made, and octet's int8 files in ONNX Runtime and OpenVINO; PICTURES=DIR as above;
##                   writes bench/results/onnx.md
bench-onnx:
	@bench/onnx/run "$(PICTURES)" $(ONNX)

## make bench-train  how fast octet trains, beside PyTorch and Paddle; writes bench/results/train.md
bench-train:
	@bench/train/run $(TRAIN)

## make bench-infer  how many pictures a second octet classifies, beside ONNX Runtime + Pillow; writes bench/results/infer.md
bench-infer:
	@bench/infer/run $(if $(PICTURES),--pictures $(PICTURES)) $(INFER)

## make format       clang-format on every source
format: setup
	@tools/check_format --fix

## make lint         clang-tidy on every source (some minutes)
lint: setup
	@cmake --preset dev --log-level=WARNING
	@run-clang-tidy -quiet -p build/dev -j $(JOBS) '/(src|fuzz)/.*\.cc$$'

## make sanitize     everything below: unit tests under all sanitizers, and a minute of each fuzz target (about two hours)
sanitize: asan tsan
	@cmake --preset fuzz --log-level=WARNING
	@$(BUILD) fuzz
	@fuzz/run 60

## make asan         unit tests under the address and undefined-behaviour sanitizers
## make tsan         unit tests under the thread sanitizer
# These builds have no octet-train, and Open MPI is not clean itself.
asan tsan: setup
	@cmake --preset $@ --log-level=WARNING
	@$(BUILD) $@
	@ctest --test-dir build/$@ -j $(JOBS) --output-on-failure -L unit -E 'ExamplesDoWhatTheyShow/(train|qat|launch)|SeveralProcesses'

## make attack       mutated models, faults at every step, random graphs through all kernels: for hours (MUTANTS=N, SECONDS=N)
attack: MUTANTS ?= 100000
attack: SECONDS ?= 3600
attack: setup
	@$(CONFIGURE) $(TEST_OPTIONS)
	@$(BUILD) release --target octet_program octet_mutants octet_differential octet_fault_sweep
	@build/release/octet_mutants $(MUTANTS) --jobs $(JOBS) --seed $${SEED:-$$(date +%s)} --keep build/release/mutants_found
	@build/release/octet_differential $(SECONDS)s --seed $${SEED:-$$(date +%s)}
	@build/release/octet_fault_sweep
	@build/release/octet_fault_sweep --train

## make coverage     line coverage of what reads files, infers shapes and checks attributes; fails below 90 %
coverage: setup
	@cmake --preset coverage --log-level=WARNING
	@$(BUILD) coverage --target octet_tests octet_mutants octet_differential
	@tests/coverage/run build/coverage

## make neon         the fast kernels on 64-bit ARM, in an emulator, against the reference
neon:
	@tools/setup neon
	@cmake -S tests/neon -B build/neon -G Ninja -DCMAKE_CXX_COMPILER_LAUNCHER=ccache --log-level=WARNING
	@cmake --build build/neon -j $(JOBS)
	@qemu-aarch64 build/neon/octet_fast_tests --gtest_brief=1

## make fuzz         each fuzz target for ten minutes (SECONDS=N for another time)
fuzz: SECONDS ?= 600
fuzz: setup
	@cmake --preset fuzz --log-level=WARNING
	@$(BUILD) fuzz
	@fuzz/run $(SECONDS)

## make install      into PREFIX, /usr/local unless given; WITH_LIBTORCH=1: with libtorch's libraries (450 MB)
install: build
	@cmake --install build/release --prefix $(PREFIX)
ifdef WITH_LIBTORCH
	@cmake --install build/release --prefix $(PREFIX) --component libtorch
endif

## make clean        removes build/
clean:
	@rm -rf build
