# Compiles kernel.c with the flags of a trial and prints how many milliseconds it runs: an objective for compiler.toml.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

set -- "$MIVABO_LEVEL"
[ "$MIVABO_NATIVE" = false ] || set -- "$@" -march=native
[ "$MIVABO_FAST" = false ] || set -- "$@" -ffast-math
[ "$MIVABO_UNROLL" = false ] || set -- "$@" -funroll-loops --param "max-unroll-times=$MIVABO_TIMES"
if [ "$MIVABO_VECTOR" = true ]; then
    set -- "$@" -ftree-vectorize
    [ "$MIVABO_WIDTH" = 128 ] || set -- "$@" -mprefer-vector-width="$MIVABO_WIDTH"
else
    set -- "$@" -fno-tree-vectorize
fi
[ "$MIVABO_LTO" = false ] || set -- "$@" -flto

echo "gcc $* -DBLOCK=$MIVABO_BLOCK"
gcc "$@" -DBLOCK="$MIVABO_BLOCK" -o "$folder/kernel" kernel.c
"$folder/kernel"
