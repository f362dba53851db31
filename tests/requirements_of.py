"""Print what a wheel requires, without the packages of torch: `python tests/requirements_of.py WHEEL`."""

import re
import sys
import zipfile

_TORCH = re.compile(r"(torch|torchaudio|torchvision|torchcodec)\b")

with zipfile.ZipFile(sys.argv[1]) as wheel:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = wheel.read(name).decode()
for line in metadata.splitlines():
    field, _, requirement = line.partition(": ")
    if field == "Requires-Dist" and "extra ==" not in requirement and not _TORCH.match(requirement):
        sys.stdout.write(requirement + "\n")
