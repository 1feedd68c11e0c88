"""The exact GELU as a program of its own, which reads and writes files.

    handformer check --op gelu --with-command "python gelu_program.py {inputs_npy} {outputs}"

Any program in any language will do. {inputs} would be one safetensors file; {inputs_npy} is a
folder with an .npy file for every array and number. What is written at {outputs} is either.
"""

import sys
from math import erf, sqrt
from pathlib import Path

import numpy as np

given, results = map(Path, sys.argv[1:])
x = np.load(given / "x.npy")
y = x * (1 + np.vectorize(erf, otypes=[np.float64])(x / sqrt(2))) / 2
results.mkdir()
np.save(results / "y.npy", y.astype(x.dtype))
