"""Makes fixture.safetensors: images before and after each step, by torchvision's definitions.

    python3 generate.py

Everything is written with PyTorch alone; where torchvision can be imported, the two are compared.
"""

import math

import torch
import torch.nn.functional as nnf
from safetensors.torch import save_file

try:
    import torchvision.transforms.v2.functional as tv
except ImportError:
    tv = None

torch.manual_seed(3)
images = torch.rand(4, 3, 9, 7)
# Colours of equal channels, of full value and of none, which conversions divide by zero for.
images[0, :, :2] = torch.tensor([0.0, 1.0, 0.5, 0.2, 0.7, 1.0, 0.0])
images[1, :, 0, :3] = torch.eye(3)
images[1, :, 1, :3] = 1 - torch.eye(3)
grey = images[:, :1].clone()
fixture = {"images": images, "grey_images": grey}


def keep(name, result, reference=None):
    """Keeps a result; `reference` is torchvision's, for each image."""
    if tv is not None and reference is not None:
        other = torch.stack([reference(index) for index in range(len(result))])
        worst = (result - other).abs().max().item()
        assert worst < 2e-6, f"{name}: {worst} from torchvision"
    fixture[name] = result.contiguous()


# Affine maps: angle, translation x and y, scale, shear x and y.
maps = [[0, 0, 0, 1, 0, 0], [30, 2, -1, 1, 0, 0], [-75, 0, 3, 0.6, 12, 0], [180, 1, 1, 1.7, -20, 33]]


def affine(image, angle, x, y, scale, shear_x, shear_y):
    angle, shear_x, shear_y = (math.radians(value) for value in (angle, shear_x, shear_y))
    turn = torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    shear_rows = torch.tensor([[1, 0], [-math.tan(shear_y), 1.0]])
    shear_columns = torch.tensor([[1, -math.tan(shear_x)], [0, 1.0]])
    forward = (scale * turn @ shear_rows @ shear_columns).double()
    inverse = forward.inverse()
    height, width = image.shape[-2:]
    half = torch.tensor([width / 2, height / 2]).double()
    # affine_grid maps places between -1 and 1.
    matrix = torch.diag(1 / half) @ inverse @ torch.diag(half)
    shift = -(inverse @ torch.tensor([x, y]).double()) / half
    theta = torch.cat([matrix, shift[:, None]], 1)[None]
    grid = nnf.affine_grid(theta, [1, 1, height, width], align_corners=False)
    return nnf.grid_sample(image[None].double(), grid, align_corners=False)[0].float()


fixture["affine_maps"] = torch.tensor(maps, dtype=torch.float32)
keep(
    "affine",
    torch.stack([affine(image, *entry) for image, entry in zip(images, maps)]),
    lambda i: tv.affine(
        images[i], maps[i][0], maps[i][1:3], maps[i][3], maps[i][4:], tv.InterpolationMode.BILINEAR
    )
    if tv
    else None,
)

# Crops of the padded image: the first row and column, from -2 to 2.
offsets = [[0, 0], [-2, 2], [1, -1], [2, 0]]
padded = nnf.pad(images, [2] * 4)
fixture["crop_offsets"] = torch.tensor(offsets, dtype=torch.float32)
keep(
    "crop",
    torch.stack([image[:, y + 2 : y + 11, x + 2 : x + 9] for image, (y, x) in zip(padded, offsets)]),
    lambda i: tv.crop(images[i], *offsets[i], 9, 7),
)
keep("horizontal_flip", images.flip(3), lambda i: tv.horizontal_flip(images[i]))
keep("vertical_flip", images.flip(2), lambda i: tv.vertical_flip(images[i]))

# Windows, resized to all of the image: top, left, height, width.
windows = [[0, 0, 9, 7], [3, 2, 4, 3], [0, 5, 9, 2], [8, 0, 1, 7]]


def resize(image, size):
    return nnf.interpolate(image, size=size, mode="bilinear", antialias=True)


fixture["windows"] = torch.tensor(windows, dtype=torch.float32)
keep(
    "resized_crop",
    torch.cat([resize(images[i : i + 1, :, y : y + h, x : x + w], [9, 7])
               for i, (y, x, h, w) in enumerate(windows)]),
    lambda i: tv.resized_crop(images[i], *windows[i], [9, 7], antialias=True),
)

# Colours.
factors = torch.tensor([0.0, 0.4, 1.0, 1.9])
shifts = torch.tensor([-0.5, -0.1, 0.03, 0.5])
fixture |= {"factors": factors, "shifts": shifts}
each = factors[:, None, None, None]
shares = torch.tensor([0.2989, 0.587, 0.114])
greys = torch.einsum("nchw,c->nhw", images, shares)[:, None]


def blend(one, other):
    return (each * one + (1 - each) * other).clamp(0, 1)


def to_hsv(image):
    red, green, blue = image.unbind(1)
    value, spread = image.amax(1), image.amax(1) - image.amin(1)
    safe = torch.where(spread == 0, 1, spread)
    sixths = torch.where(
        value == red,
        (green - blue) / safe,
        torch.where(value == green, 2 + (blue - red) / safe, 4 + (red - green) / safe),
    )
    saturation = spread / torch.where(value == 0, 1, value)
    return torch.stack([(sixths / 6) % 1, saturation, value], 1)


def to_rgb(hsv):
    hue, saturation, value = hsv.unbind(1)
    sector = torch.floor(hue * 6)
    part = hue * 6 - sector
    p, q, t = (value * (1 - saturation * by) for by in (1, part, 1 - part))
    order = [(value, t, p), (q, value, p), (p, value, t), (p, q, value), (t, p, value), (value, p, q)]
    colours = torch.stack([torch.stack(colour, 1) for colour in order])
    index = (sector.long() % 6)[None, :, None].expand(1, -1, 3, -1, -1)
    return colours.gather(0, index)[0].clamp(0, 1)


number = [value.item() for value in factors]
turn = [value.item() for value in shifts]
keep("brightness", (each * images).clamp(0, 1), lambda i: tv.adjust_brightness(images[i], number[i]))
keep("contrast", blend(images, greys.mean((1, 2, 3), keepdim=True)),
     lambda i: tv.adjust_contrast(images[i], number[i]))
keep("contrast_of_grey", blend(grey, grey.mean((1, 2, 3), keepdim=True)),
     lambda i: tv.adjust_contrast(grey[i], number[i]))
keep("saturation", blend(images, greys), lambda i: tv.adjust_saturation(images[i], number[i]))
hsv = to_hsv(images)
turned = torch.cat([(hsv[:, :1] + shifts[:, None, None, None]) % 1, hsv[:, 1:]], 1)
keep("hue", to_rgb(turned), lambda i: tv.adjust_hue(images[i], turn[i]))

# Normalisation.
mean, deviation = torch.tensor([0.4914, 0.4822, 0.4465]), torch.tensor([0.2470, 0.2435, 0.2616])
keep("normalised", (images - mean[:, None, None]) / deviation[:, None, None],
     lambda i: tv.normalize(images[i], mean.tolist(), deviation.tolist()))

# Mixing: rectangles as top, bottom, left, right; the other image is the one before.
rectangles = [[0, 9, 0, 7], [2, 5, 1, 4], [0, 0, 0, 0], [8, 9, 5, 7]]
inside = torch.zeros(4, 1, 9, 7)
for mask, (top, bottom, left, right) in zip(inside, rectangles):
    mask[:, top:bottom, left:right] = 1
before = images.roll(1, 0)
fixture["rectangles"] = torch.tensor(rectangles, dtype=torch.float32)
fixture["mix_shares"] = torch.tensor([0.0, 0.3, 1.0, 0.75])
share = fixture["mix_shares"][:, None, None, None]
keep("cutout", images * (1 - inside),
     lambda i: tv.erase(images[i], rectangles[i][0], rectangles[i][2],
                        rectangles[i][1] - rectangles[i][0], rectangles[i][3] - rectangles[i][2],
                        torch.zeros(1)))
keep("mixup", share * images + (1 - share) * before)
keep("cutmix", torch.where(inside == 1, before, images))

save_file(fixture, "fixture.safetensors")
