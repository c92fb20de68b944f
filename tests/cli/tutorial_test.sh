#!/bin/bash
# tutorial_test.sh SOURCE FOLDER OCTET
# Runs the commands of docs/segmentation.md, as they are there, in an empty folder: on few and small pictures, for a few iterations, and without
# a network.
set -e -o pipefail
source_dir=$1 folder=$2 octet=$3
rm -rf "$folder" && mkdir -p "$folder/docs" "$folder/bin" && cd "$folder"
cp -r "$source_dir/configs" configs
ln -s "$source_dir/docs/images" docs/images
sed -i -e 's/^iters: .*/iters: 4/' -e 's/\[512, 512\]/[64, 64]/' configs/quick_start/bisenet_optic_disc_512x512_1k.yml
# The same program, but for how many pictures it makes.
cat >bin/octet <<SCRIPT
#!/bin/bash
[ "\$1" = data ] && set -- "\$@" --count 20 --size 64x64
exec "$octet" "\$@"
SCRIPT
chmod +x bin/octet
export PATH=$PWD/bin:$PATH OCTET_CACHE=$PWD/cache CUDA_VISIBLE_DEVICES=

# What the first command would fetch is put where the manual says.
octet data synth-disc --output first
octet train --config configs/quick_start/bisenet_optic_disc_512x512_1k.yml --data-path first --iters 1 --save_dir first_out
mkdir -p cache/downloads/bj.bcebos.com/paddleseg/dygraph/optic_disc/bisenet_optic_disc_512x512_1k
mv first_out/iter_1/model.pdparams cache/downloads/bj.bcebos.com/paddleseg/dygraph/optic_disc/bisenet_optic_disc_512x512_1k/
rm -r first first_out

awk '/^```/ { inside = $0 == "```shell"; next } inside' "$source_dir/docs/segmentation.md" >commands.sh
[ "$(grep -c '^octet ' commands.sh)" = 10 ]
# The tutorial's own words, whatever this page becomes.
for words in 'octet predict.py' 'octet train.py' 'octet slim/quant/qat_train.py' 'octet slim/quant/qat_export.py'; do
  grep -q "^$words \\\\$" commands.sh
done
bash -e commands.sh 2>&1 | tee said.txt

test -s output/result/added_prediction/optic_test_image.jpg
test -s output/result/pseudo_color_prediction/optic_test_image.png
test -s output_fp32/best_model/model.pdparams
test -s output_quant/best_model/model.pdparams
test -s output/int8/pseudo_color_prediction/optic_test_image.png
test -s output/masks/optic_test_image.png
for model in output_ptq_infer output_quant_infer; do
  octet info --model $model >info.txt
  grep -q '^quantized: .*8 bits' info.txt
done
grep -q '\[EVAL\] #Images: ' said.txt
