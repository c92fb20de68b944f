#!/bin/bash
# chain_test.sh SOURCE FOLDER MODEL CONFIG MODE [quick]
# Follows test_tipc's documents in an empty folder. `quick`: one epoch, on small pictures.
set -e -o pipefail
source_dir=$1 folder=$2 model=$3 name=$4 mode=$5 quick=$6
rm -rf "$folder" && mkdir -p "$folder" && cd "$folder"
ln -s "$source_dir/test_tipc" test_tipc
config=test_tipc/configs/$model/$name.txt
if [ "$quick" ]; then
  sed -e 's/lite_train_lite_infer=5/lite_train_lite_infer=1/' -e 's/train\.py/& --img-size=64/' \
      -e 's/export_model\.py/& --img-size=64/' "$config" > config.txt
  config=config.txt
fi
script=test_train_inference_python.sh
[ "$name" = train_ptq_infer_python ] && script=test_ptq_inference_python.sh
bash test_tipc/prepare.sh "$config" "$mode" 2>&1 | tee said.txt
bash test_tipc/$script "$config" "$mode" 2>&1 | tee -a said.txt

log=log/$model/$mode
if grep "Run failed" "$log/results_python.log"; then exit 1; fi
grep -q "image_name: ./images/demo.jpg, class_id: [0-3], prob: [01]" "$log/python_infer_cpu_batchsize_1.log"
grep -q "inference_time(ms): " "$log/python_infer_cpu_batchsize_1.log"
case $name in
  train_ptq_infer_python | train_pact_infer_python) precision=int8 ;;
  *) precision=fp32 ;;
esac
[ "$mode" = whole_infer ] && [ $name != train_ptq_infer_python ] && precision=fp32
grep -q "precision: $precision" "$log/python_infer_cpu_batchsize_1.log"
# A step of two processes with four pictures each has eight.
[ "$mode" = whole_infer ] || grep -q "avg_samples: 8" "$log"/*_gpus_0,1_train.log
# The document shows what was said here, word for word.
if [ $model = mobilenet_v3_small ] && [ -z "$quick" ] && { [ "$mode" != whole_infer ] || [ $name = train_ptq_infer_python ]; }; then
  awk '/^```/ { inside = !inside; next } inside' "test_tipc/docs/test_${name/infer/inference}.md" > shown.txt
  if grep -vxFf shown.txt said.txt; then exit 1; fi
fi
