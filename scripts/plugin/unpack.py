"""Unpacks a wheel: python3 unpack.py WHEEL FOLDER. Keeps the permissions that zipfile drops (CUDA's compilers must be executable)."""

import os
import sys
import zipfile


def unpack(wheel, folder):
    root = os.path.realpath(folder)
    with zipfile.ZipFile(wheel) as z:
        for entry in z.infolist():
            target = os.path.realpath(os.path.join(root, entry.filename))
            if os.path.commonpath([root, target]) != root:
                sys.exit(f"{wheel}: {entry.filename} would land outside {folder}: not unpacked")
            z.extract(entry, root)
            mode = entry.external_attr >> 16 & 0o777
            if mode and not entry.is_dir():
                os.chmod(target, mode | 0o600)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python3 unpack.py WHEEL FOLDER")
    unpack(sys.argv[1], sys.argv[2])
