"""Write tests/golden: what the PyTorch models of tests/peers compute for every case.

python tools/make_golden.py          (needs the extra `peers`)
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.peers import cases, golden, torch_models


def main() -> None:
    golden.FOLDER.mkdir(exist_ok=True)
    for case in cases.CASES:
        data = golden.to_bytes(torch_models.compute(case))
        (golden.FOLDER / f"{case}.safetensors").write_bytes(data)
        print(f"{case.name:20} {len(data):7,} bytes")


if __name__ == "__main__":
    main()
