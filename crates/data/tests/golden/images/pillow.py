"""Writes images beside this file, and pillow.json: what Pillow makes of them.

    pip install pillow && python3 pillow.py

Each case is loaded as torchvision's ImageFolder does (`convert("RGB")`, or `convert("L")` of that
for one channel), then stretched, or resized by its shorter side and cropped at the centre with
torchvision's arithmetic, or padded: made smaller by its longer side if it is too large, and pasted
into the middle of black; always `Image.BILINEAR`. Pixels are hexadecimal, row by row.
`turn` is the EXIF orientation to be undone first. `tolerance` is in levels of 256: 1 for the
rounding of the resize, more where two decoders may differ (JPEG, lossy WebP).
"""

import json
import pathlib

import PIL
from PIL import Image, ImageOps

HERE = pathlib.Path(__file__).parent


def picture(width, height):
    """Smooth colours, a few edges and some noise, as in a photograph."""
    image = Image.new("RGB", (width, height))
    for y in range(height):
        for x in range(width):
            noise = (x * 7919 + y * 104729) % 23
            edge = 60 if (x // 9 + y // 7) % 2 else 0
            red = x * 170 // width + edge + noise // 2
            green = y * 170 // height + edge
            blue = (x + y) * 110 // (width + height) + 2 * edge // 3 + noise
            image.putpixel((x, y), (red, green, blue))
    return image


def with_alpha(image):
    alpha = Image.linear_gradient("L").resize(image.size)
    image = image.copy()
    image.putalpha(alpha)
    return image


def write_images():
    wide, tall = picture(53, 40), picture(30, 61)
    turned = Image.Exif()
    turned[0x0112] = 6  # to be turned by 90 degrees clockwise
    for name, image, options in [
        ("wide.png", wide, {}),
        ("tall.png", tall, {}),
        ("grey.png", wide.convert("L"), {}),
        ("alpha.png", with_alpha(wide), {}),
        ("grey_alpha.png", with_alpha(wide.convert("L")), {}),
        ("palette.png", wide.quantize(16), {}),
        ("bits.png", wide.convert("1"), {}),
        ("wide.bmp", wide, {}),
        ("wide.webp", wide, {"quality": 90}),
        ("lossless.webp", with_alpha(wide), {"lossless": True}),
        ("wide.jpg", wide, {"quality": 95, "subsampling": 0}),
        ("subsampled.jpg", wide, {"quality": 95, "subsampling": 2}),
        ("progressive.jpg", wide, {"quality": 95, "progressive": True, "subsampling": 0}),
        ("grey.jpg", wide.convert("L"), {"quality": 95}),
        ("print.jpg", wide.convert("CMYK"), {"quality": 95}),
        ("turned.jpg", wide, {"quality": 95, "subsampling": 0, "exif": turned}),
        ("turned.png", wide, {"exif": turned}),
    ]:
        image.save(HERE / name, **options)


def resize(image, height, width, how):
    if how == "stretch":
        return image.resize((width, height), Image.BILINEAR)
    if how == "pad":
        # The side that has to shrink more decides; fractions of a pixel are cut off.
        numerator, denominator = min(
            (1, 1), (height, image.height), (width, image.width), key=lambda part: part[0] / part[1]
        )
        size = [max(side * numerator // denominator, 1) for side in image.size]
        padded = Image.new(image.mode, (width, height))
        padded.paste(
            image.resize(size, Image.BILINEAR), ((width - size[0]) // 2, (height - size[1]) // 2)
        )
        return padded
    # torchvision: Resize (of the shorter side; here of the side that must cover), CenterCrop.
    if image.width * height <= image.height * width:
        resized = (width, image.height * width // image.width)
    else:
        resized = (image.width * height // image.height, height)
    left = int(round((resized[0] - width) / 2.0))
    top = int(round((resized[1] - height) / 2.0))
    image = image.resize(resized, Image.BILINEAR)
    return image.crop((left, top, left + width, top + height))


def case(file, height, width, channels=3, how="crop", tolerance=1):
    image = ImageOps.exif_transpose(Image.open(HERE / file)).convert("RGB")
    if channels == 1:
        image = image.convert("L")
    pixels = resize(image, height, width, how).tobytes().hex()
    return {
        "file": file,
        "size": [height, width],
        "channels": channels,
        "resize": how,
        "tolerance": tolerance,
        "pixels": pixels,
    }


write_images()
CASES = [
    # The resize: smaller, larger, as it is, other proportions.
    case("wide.png", 16, 16),
    case("wide.png", 17, 13),
    case("wide.png", 8, 40),
    case("wide.png", 16, 16, how="stretch"),
    case("wide.png", 40, 53),
    case("wide.png", 47, 47),
    case("wide.png", 16, 16, channels=1),
    case("tall.png", 16, 16),
    case("tall.png", 9, 20, how="stretch"),
    # Padded: above and below, at the sides, by other proportions, not at all, all around.
    case("wide.png", 16, 16, how="pad"),
    case("wide.png", 16, 16, channels=1, how="pad"),
    case("tall.png", 16, 16, how="pad"),
    case("tall.png", 16, 16, channels=1, how="pad"),
    case("wide.png", 11, 40, how="pad"),
    case("tall.png", 40, 9, how="pad"),
    case("tall.png", 61, 30, how="pad"),
    case("wide.png", 45, 60, how="pad"),
    # The colours and the formats.
    case("grey.png", 16, 16),
    case("grey.png", 16, 16, channels=1),
    case("alpha.png", 16, 16),
    case("grey_alpha.png", 16, 16, channels=1),
    case("palette.png", 16, 16),
    case("bits.png", 16, 16),
    case("wide.bmp", 16, 16),
    case("wide.webp", 16, 16, tolerance=2),
    case("lossless.webp", 16, 16),
    case("wide.jpg", 16, 16, tolerance=2),
    case("wide.jpg", 16, 16, channels=1, tolerance=2),
    case("subsampled.jpg", 16, 16, tolerance=2),
    case("progressive.jpg", 16, 16, tolerance=2),
    case("grey.jpg", 16, 16, tolerance=2),
    case("grey.jpg", 16, 16, channels=1, tolerance=2),
    case("print.jpg", 16, 16, tolerance=2),
    # The orientation.
    case("turned.jpg", 16, 16, tolerance=2),
    case("turned.png", 16, 16),
]
golden = {"pillow": PIL.__version__, "cases": CASES}
(HERE / "pillow.json").write_text(json.dumps(golden, indent=1) + "\n")
