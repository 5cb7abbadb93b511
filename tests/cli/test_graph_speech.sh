# Models of sound: --seconds of `graph` and `predict`, and where it is refused.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
configs="$ROOFTILE_SOURCE/tests/data/configs"
cd "$work"
cp "$configs"/wav2vec2-base-960h.json w.json
cp "$configs"/whisper-tiny.json tiny.json

succeeds graph "$ROOFTILE" graph -m w.json
holds default_is_ten_seconds "w.json: inference, batch 1, sequence 499, 10 s of sound, fp32" "$work/stdout"
succeeds longer "$ROOFTILE" graph -m w.json --seconds 20 --json
json_is longer_options "d['options']['seconds'], d['options']['sequence']" "(20.0, 999)"
succeeds window "$ROOFTILE" graph -m tiny.json --json
json_is window_is_thirty "d['options']['seconds'], d['options']['sequence']" "(30.0, 448)"
succeeds short "$ROOFTILE" graph -m tiny.json --seconds 3 --json
json_is window_is_filled "[n['kernels'][0]['dims']['width'] for n in d['blocks'][0]['nodes'] if n['name'] == 'conv1']" "[3000]"
succeeds text "$ROOFTILE" graph -m gpt2 --json
json_is text_has_no_seconds "d['options']['seconds']" None
succeeds decode "$ROOFTILE" graph -m tiny.json --mode decode --context 100
holds decode_says "context 100, 30 s of sound" "$work/stdout"

refuses of_text 2 "gpt2 hears nothing, so --seconds is not for it; --seq is its size" "$ROOFTILE" graph -m gpt2 --seconds 2
refuses of_images 2 "resnet50 hears nothing, so --seconds is not for it; --image is its size" "$ROOFTILE" graph -m resnet50 --seconds 2
refuses of_sound 2 "w.json is a model of sound, which --seq is not for; --seconds is its length" "$ROOFTILE" graph -m w.json --seq 9
refuses sound_image 2 "w.json is a model of sound, which --image is not for" "$ROOFTILE" graph -m w.json --image 9
refuses too_long 2 "--seconds 31: tiny.json hears 30 seconds at a time; give a larger --batch" "$ROOFTILE" graph -m tiny.json --seconds 31
refuses too_short 2 "--seconds 0.02 is less than the convolutions of w.json reach over" "$ROOFTILE" graph -m w.json --seconds 0.02
refuses no_number 2 "--seconds" "$ROOFTILE" graph -m w.json --seconds ten
refuses no_decoder 2 "w.json keeps no keys and values" "$ROOFTILE" graph -m w.json --mode decode
refuses not_served 2 "LLM servers do not run Whisper" "$ROOFTILE" graph -m tiny.json --runtime serving --dtype bf16
refuses uneven_heads 2 "--tp 4 does not divide the 6 heads" "$ROOFTILE" graph -m tiny.json --tp 4
refuses of_onnx 2 "so --seconds does not apply" "$ROOFTILE" graph -m "$ROOFTILE_SOURCE/models/networks/zoo/resnet50.onnx" --seconds 2

# More sound takes longer; a forecast says how much it is of.
succeeds predict "$ROOFTILE" predict -p roofline --gpu A100 -m w.json --seconds 5 --json
json_is predict_seconds "d['seconds'], d['sequence']" "(5.0, 249)"
cp "$work/stdout" five.json
succeeds predict_longer "$ROOFTILE" predict -p roofline --gpu A100 -m w.json --json
json_is longer_takes_longer "d['total_ms'] > json.load(open('five.json'))['forecasts'][0]['total_ms']" True
succeeds predict_text "$ROOFTILE" predict -p roofline --gpu A100 -m tiny.json --mode training --dtype bf16
holds predict_says "1 x 448 tokens and 30 s of sound" "$work/stdout"
refuses predict_of_text 2 "gpt2 hears nothing" "$ROOFTILE" predict -p roofline --gpu A100 -m gpt2 --seconds 2
finish
