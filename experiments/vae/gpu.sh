#!/usr/bin/env bash
# Runs the experiment on a machine with a GPU that cannot reach a package index.
#
#   experiments/vae/gpu.sh selftest            recorded configurations again: values and times
#   experiments/vae/gpu.sh run [options]       run.py with those options; lines go to $OUT/lines.jsonl
#   experiments/vae/gpu.sh long [options]      long.py with those options; its scores go to $OUT/long.jsonl, its state to $OUT/state-*.pt
#   experiments/vae/gpu.sh pictures LINES...   pictures.py of those lines; they go to $OUT/pictures.npz
#
# Beside this file: wheels/ (what requirements.txt names, for the Python there, and mivabo's own) and data/ (mnist/,
# fashion-mnist/, vae-mnist-evaluations.jsonl).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mode=$1
shift
out=${OUT:-$here/results}
python=${PYTHON:-python3}
site=${SITE:-/tmp/vae-site}
mkdir -p "$out"

# Unpacked wheels come last on the path: what the machine has wins.
# Unpacked anew each time: a warm machine may hold an older wheel of ours.
rm -rf "$site"
"$python" -c 'import sys, zipfile; [zipfile.ZipFile(wheel).extractall(sys.argv[1]) for wheel in sys.argv[2:]]' "$site" "$here"/wheels/*.whl
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo "$site" > "$packages/vae-experiment.pth" || export PYTHONPATH="$site"

export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 PYTHONUNBUFFERED=1 PYTHONWARNINGS=ignore
if command -v nvidia-cuda-mps-control > /dev/null; then
    export CUDA_MPS_PIPE_DIRECTORY=/tmp/vae-mps CUDA_MPS_LOG_DIRECTORY=/tmp/vae-mps-log
    mkdir -p "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
    if pgrep -x nvidia-cuda-mps > /dev/null || nvidia-cuda-mps-control -d; then echo "MPS is on"; else echo "MPS did not start"; fi
else
    echo "no MPS here"
fi
nvidia-smi --query-gpu=name,driver_version,compute_mode --format=csv,noheader 2> /dev/null || echo "no GPU here"
echo "$(nproc --all) cores"

cd "$here"
case $mode in
    selftest) "$python" selftest.py --data data "$@" 2>&1 | tee "$out/selftest.log" ;;
    run) "$python" run.py --data data --out "$out/lines.jsonl" "$@" 2>&1 | tee "$out/run.log" ;;
    long) "$python" long.py --data data --out "$out" "$@" 2>&1 | tee "$out/long.log" ;;
    pictures) "$python" pictures.py --data data --out "$out/pictures.npz" "$@" 2>&1 | tee "$out/pictures.log" ;;
    *) echo "selftest, run, long or pictures, not $mode" >&2 && exit 2 ;;
esac
