#!/bin/sh
# A Python, as far as `bench` can tell, whose PyTorch computes something else.
if [ "$1" = -c ]; then
    echo '["numpy", "safetensors", "torch"]'
    exit
fi
echo '{"version": "1.0", "losses": [0.1, 0.1, 0.1]}'
while read -r _; do
    echo '{"seconds": 1.0, "peak_memory_bytes": null}'
done
