# Whole models are never slower on more hardware (more_hardware.py); tests/models/predictors/predictor/test_more_hardware.c is of
# kernels.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work"

succeeds "more hardware is never slower" python3 "$ROOFTILE_SOURCE/tests/cli/more_hardware.py" "$ROOFTILE"
holds "and there was some" "forecasts with more hardware, 0 of them slower" stdout
cat stdout

# Multiprocessors and clock bring their share of the peaks, which may be given instead.
succeeds "half of the SMs" "$ROOFTILE" devices H100,sms=66 --json
holds "half of the peak" '"bf16_matrix_tflops": 494.69' stdout
succeeds "a peak that is given" "$ROOFTILE" devices H100,bf16_matrix_tflops=500,sms=66 --json
holds "is not scaled" '"bf16_matrix_tflops": 500.0' stdout
finish
