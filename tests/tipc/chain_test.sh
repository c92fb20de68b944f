#!/bin/bash
# chain_test.sh SOURCE FOLDER MODEL CONFIG MODE [quick]
# Follows test_tipc's documents in an empty folder. `quick`: one epoch, on small pictures; of segmentation, four iterations.
set -e -o pipefail
source_dir=$1 folder=$2 model=$3 name=$4 mode=$5 quick=$6
rm -rf "$folder" && mkdir -p "$folder" && cd "$folder"
ln -s "$source_dir/test_tipc" test_tipc
config=test_tipc/configs/$model/$name.txt
if [ "$quick" ]; then
  sed -e 's/^--epochs:lite_train_lite_infer=5/--epochs:lite_train_lite_infer=1/' -e 's/^--iters:lite_train_lite_infer=20/--iters:lite_train_lite_infer=4/' "$config" > config.txt
  [ "$model" = bisenetv2 ] || sed -i -e 's/train\.py/& --img-size=64/' -e 's/export_model\.py/& --img-size=64/' config.txt
  config=config.txt
fi
script=test_train_inference_python.sh
[ "$name" = train_ptq_infer_python ] && script=test_ptq_inference_python.sh
bash test_tipc/prepare.sh "$config" "$mode" 2>&1 | tee said.txt
bash test_tipc/$script "$config" "$mode" 2>&1 | tee -a said.txt

log=log/$model/$mode
if grep "Run failed" "$log/results_python.log"; then exit 1; fi
if [ "$model" = bisenetv2 ]; then
  # A mask for each picture, and nothing where the real data set would be fetched to.
  [ "$(find output/bisenetv2_masks -name 'H*.png' | wc -l)" = 20 ]
  [ ! -e data ]
  # A step of two processes with four pictures each.
  [ "$mode" = whole_infer ] || grep -q "mIoU: " "$log"/*_gpus_0,1_eval.log
else
  grep -q "image_name: ./images/demo.jpg, class_id: [0-3], prob: [01]" "$log/python_infer_cpu_batchsize_1.log"
  # A step of two processes with four pictures each has eight.
  [ "$mode" = whole_infer ] || grep -q "avg_samples: 8" "$log"/*_gpus_0,1_train.log
fi
grep -q "inference_time(ms): " "$log/python_infer_cpu_batchsize_1.log"
case $name in
  train_ptq_infer_python | train_pact_infer_python) precision=int8 ;;
  *) precision=fp32 ;;
esac
[ "$mode" = whole_infer ] && [ $name != train_ptq_infer_python ] && precision=fp32
grep -q "precision: $precision" "$log/python_infer_cpu_batchsize_1.log"
# The document shows what was said here, word for word.
case $model in mobilenet_v3_small | bisenetv2) has_document=yes ;; esac
if [ "$has_document" ] && [ -z "$quick" ] && { [ "$mode" != whole_infer ] || [ $name = train_ptq_infer_python ]; }; then
  awk '/^```/ { inside = !inside; next } inside' "test_tipc/docs/test_${name/infer/inference}.md" > shown.txt
  if grep -vxFf shown.txt said.txt; then exit 1; fi
fi
