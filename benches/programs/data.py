"""Small inputs for Rodinia's programs, in the formats that they read; its own are a separate download of hundreds of megabytes."""

import pathlib
import random


def graph(path, nodes, random):
    """bfs: nodes with the place and number of their edges, the source, the edges with their costs."""
    targets = [sorted(random.sample(range(nodes), random.randint(1, 6))) for _ in range(nodes)]
    lines, first = [str(nodes)], 0
    for edges in targets:
        lines.append(f"{first} {len(edges)}")
        first += len(edges)
    lines += ["", "0", "", str(first)]
    lines += [f"{to} {random.randint(1, 10)}" for edges in targets for to in edges]
    path.write_text("\n".join(lines) + "\n")


def numbers(path, count, low, high, random):
    path.write_text("".join(f"{random.uniform(low, high):.6f}\n" for _ in range(count)))


def mesh(path, side, random):
    """cfd: cells with their area and four neighbours, each with the normal of the face between; -1 is a wall, -2 far away."""
    lines = [str(side * side)]
    for cell in range(side * side):
        x, y = cell % side, cell // side
        faces = []
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            inside = 0 <= x + dx < side and 0 <= y + dy < side
            neighbour = cell + dx + dy * side + 1 if inside else -1 if dy == -1 else -2
            faces.append(f"{neighbour} {-dx * 0.1:.6f} {-dy * 0.1:.6f}")
        lines.append("0.01 " + " ".join(faces))
    path.write_text("\n".join(lines) + "\n")


def keys(path, count, random):
    """b+tree: how many keys, and the keys."""
    path.write_text(f"{count}\n" + "".join(f"{key}\n" for key in random.sample(range(count), count)))


def hurricanes(folder, count, random):
    """nn: records of 49 bytes, of which the program reads latitude and longitude at fixed places."""
    path = folder / "cane.db"
    records = []
    for _ in range(count):
        date = f"{random.randint(1950, 2000)} {random.randint(1, 12):2} {random.randint(1, 28):2} {random.randint(0, 18):2}"
        record = f"{date} {random.randint(1, 99):2} {'STORM':>9} {random.uniform(5, 60):5.1f} {random.uniform(10, 99):5.1f} {random.randint(10, 99):4} {random.randint(10, 99):4}"
        records.append(record[:48].ljust(48) + "\n")
    path.write_text("".join(records))
    (folder / "filelist.txt").write_text("../../data/nn/cane.db\n")


def points(path, count, features, random):
    path.write_text("".join(f"{n} " + " ".join(f"{random.random():.4f}" for _ in range(features)) + "\n" for n in range(count)))


def bitmap(path, side, random):
    """dwt2d: 24 bits a pixel, without a header's fields that the program does not read."""
    row = side * 3
    header = b"BM" + (54 + row * side).to_bytes(4, "little") + bytes(4) + (54).to_bytes(4, "little")
    header += (40).to_bytes(4, "little") + side.to_bytes(4, "little") * 2 + (1).to_bytes(2, "little") + (24).to_bytes(2, "little") + bytes(24)
    path.write_bytes(header + bytes(random.randrange(256) for _ in range(row * side)))


def picture(path, width, height, random):
    """srad_v1: a portable grey map in text."""
    rows = [" ".join(str(random.randrange(1, 255)) for _ in range(width)) for _ in range(height)]
    path.write_text(f"P2\n{width} {height}\n255\n" + "\n".join(rows) + "\n")


def write(folder):
    """All inputs, below a folder."""
    folder = pathlib.Path(folder)
    source = random.Random(1)

    def place(name):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    graph(place("bfs/graph256.txt"), 256, source)
    keys(place("b+tree/keys.txt"), 4096, source)
    place("b+tree/command.txt").write_text("j 16 100\nk 16\n")
    mesh(place("cfd/mesh.txt"), 16, source)
    bitmap(place("dwt2d/image.bmp"), 64, source)
    for name in ("temp", "power"):
        numbers(place(f"hotspot/{name}_64"), 64 * 64, 320, 340, source)
        numbers(place(f"hotspot3D/{name}_64x8"), 64 * 64 * 8, 320, 340, source)
    place("huffman/text.in").write_bytes(bytes(source.choice(b"aaaabbbccd \n") for _ in range(1 << 16)))
    points(place("kmeans/100"), 100, 34, source)
    hurricanes(place("nn/x").parent, 256, source)
    numbers(place("myocyte/y.txt"), 91, 0.1, 0.9, source)
    numbers(place("myocyte/params.txt"), 18, 0.1, 0.9, source)
    picture(place("srad/image.pgm"), 64, 64, source)
