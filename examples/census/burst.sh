#!/usr/bin/env bash
# Burst training from one end to the other: an image, the data, a large Spot machine that is gone when it is done, and the model
# evaluated here.
#
#   ./burst.sh BUCKET [IMAGE-FAMILY [CV-ITERATIONS [MACHINE-TYPE [FLAGS OF train.py...]]]]
set -euo pipefail
cd "$(dirname "$0")"

bucket="${1:?usage: ./burst.sh BUCKET [IMAGE-FAMILY [CV-ITERATIONS [MACHINE-TYPE [FLAGS OF train.py...]]]]}"
family="${2:-census}"
iterations="${3:-300}"
machine_type="${4:-n2-highcpu-64}"
job="census-$(date +%Y%m%d-%H%M%S)"
model="gs://$bucket/$job.model"

# A job of an emulated cloud finds its bucket there too.
cloud=()
if [ -n "${STORAGE_EMULATOR_HOST:-}" ]; then cloud=(--env "STORAGE_EMULATOR_HOST=$STORAGE_EMULATOR_HOST"); fi

echo "== an image of the family $family, with what the search imports"
has_family='import json, sys; sys.exit(all(one["family"] != sys.argv[1] for one in json.load(sys.stdin)))'
if ! outlast image list --json | python3 -c "$has_family" "$family"; then
    outlast image build "$family" --requirements requirements.txt
fi

echo "== the data"
python3 get_data.py "${CENSUS_DATA:=census}"
outlast push --bucket "$bucket" "$CENSUS_DATA" census

echo "== a large Spot machine, until the search is done"
outlast run --on compute --bucket "$bucket" --job-id "$job" --machine-type "$machine_type" --image "$family" \
    ${cloud[@]+"${cloud[@]}"} --dataset census train.py -- --cv-iterations "$iterations" --model-output-path "$model" "${@:5}"

echo "== the model, evaluated here"
python3 train.py --mode evaluate --census-data-path "$CENSUS_DATA" --model-output-path "$model"

echo "== what is still paid for"
outlast audit
