# Models of images: `rooftile graph` by name, what it refuses, and, where there is torchvision, its kernels beside those
# that PyTorch runs (tests/models/networks/pytorch_images.py).
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work"

succeeds list "$ROOFTILE" graph --list
holds list_has_resnet "ResNet, ResNeXt, Wide ResNet" "$work/stdout"
succeeds list_json "$ROOFTILE" graph --list --json
json_is list_counts "[(m['image'], m['parameters']) for m in d if m['name'] == 'resnet50']" "[(224.0, 25557032.0)]"
succeeds resnet "$ROOFTILE" graph -m resnet50 --batch 4
holds resnet_title "resnet50: inference, batch 4, image 224, fp32, by eager" "$work/stdout"
holds resnet_dims "batch=4 in_channels=3 out_channels=64 height=224 width=224 kernel_h=7 kernel_w=7 stride=2 padding=3" \
    "$work/stdout"
holds resnet_parameters "parameters  25557032" "$work/stdout"
succeeds training "$ROOFTILE" graph -m ResNet-18 --image 96 --mode training --optimizer sgd --json
json_is training_options "[d['options'][k] for k in ('image', 'mode', 'channels_last', 'autocast')]" \
    "[96, 'training', False, False]"
json_is training_by_filter "sum(b['repeat'] for b in d['blocks'] for n in b['nodes'] for k in n['kernels'] \
    if k['op'] == 'conv2d' and k['phase'] == 'accumulate')" 20
succeeds compiled "$ROOFTILE" graph -m resnet18 --runtime compile
holds compiled_chain "bn2+add+relu" "$work/stdout"

refuses small_image 2 "--image 16 is smaller than the windows of alexnet reach; give at least 63" \
    "$ROOFTILE" graph -m alexnet --image 16
refuses own_image 2 "lenet5 takes images of 32 pixels a side and no others" "$ROOFTILE" graph -m lenet5 --image 28
refuses zero_batch 2 "--batch 0: must be a whole number from 1" "$ROOFTILE" graph -m vgg16 --batch 0
refuses narrow 2 "--dtype fp8: convolutions in it are not forecast; give fp32, tf32, fp16 or bf16" \
    "$ROOFTILE" graph -m vgg16 --dtype fp8
refuses shards 2 "--tp 2: vgg16 is a model of images, whose layers are not cut" "$ROOFTILE" graph -m vgg16 --tp 2
refuses half_patch 2 "--image 225: vit_b_16 cuts images into patches of 16 pixels a side; give a multiple" \
    "$ROOFTILE" graph -m vit_b_16 --image 225
succeeds other_patches "$ROOFTILE" graph -m vit_b_16 --image 240
refuses decode 2 "vgg16 is a model of images, it does not decode" "$ROOFTILE" graph -m vgg16 --mode decode
refuses server 2 "LLM servers do not run vgg16" "$ROOFTILE" graph -m vgg16 --runtime serving
refuses one_value 2 "leaves one value a channel to a batch norm of resnet50" \
    "$ROOFTILE" graph -m resnet50 --image 32 --mode training
refuses near_name 1 "nearest names: resnet50" "$ROOFTILE" graph -m renset50

# Beside PyTorch. The last are the copies of inputs that operators in place make since PyTorch 2.
for python in ${ROOFTILE_PYTHON:-} python3 /usr/bin/python3; do
    "$python" -c "import torchvision, torch; assert int(torch.__version__.split('.')[0]) >= 2" 2>/dev/null || continue
    export OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
    succeeds same "$python" "$ROOFTILE_SOURCE/tests/models/networks/pytorch_images.py" "$ROOFTILE"
    grep "^not ok\|^#" "$work/stdout"
    for model in resnet50 vgg16 mobilenet_v2; do
        holds "same_$model" "ok $model, training, batch 2" "$work/stdout"
    done
    printf '#!/bin/sh\n"%s" "$@" | sed s/batchnorm_backward/batchnorm/\n' "$ROOFTILE" >changed
    chmod +x changed
    "$python" "$ROOFTILE_SOURCE/tests/models/networks/pytorch_images.py" "$work/changed" mobilenet_v2 >"$work/stdout"
    holds notices "backward batchnorm_backward, 1280 elements" "$work/stdout"
    finish
done
echo "skipped same: no python3 with PyTorch 2 and torchvision"
finish
