# Runs the fuzzers for ten minutes each, with a new seed.
PITWALL_FUZZ_SEED=new PITWALL_FUZZ_RUNS=-1 PITWALL_FUZZ_SECONDS=36000 PITWALL_FUZZ_TARGET_SECONDS=600 bash "$(dirname "$0")/../fuzz.sh"
