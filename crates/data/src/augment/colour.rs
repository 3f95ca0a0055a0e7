//! Brightness, contrast, saturation, hue and grey, as torchvision defines them.
//!
//! Colours are between 0 and 1 before and after. Images of one channel have no saturation and no
//! hue, and are left as they are by the functions for these.

use backend::Backend;
use burn::tensor::{Tensor, TensorData};

use super::{
    AugmentOptions,
    draws::{Draws, Step},
    each_image,
};

/// The shares of red, green and blue in a grey.
const GREY: [f32; 3] = [0.2989, 0.587, 0.114];

/// Multiplies colours.
///
/// - `images`: `[batch, channels, height, width]`
/// - `factors`: one an image, 1 for no change
pub fn brightness<B: Backend>(images: Tensor<B, 4>, factors: &[f32]) -> Tensor<B, 4> {
    let factors = each_image(factors.to_vec(), &images.device());
    (images * factors).clamp(0.0, 1.0)
}

/// Moves colours away from the mean of the image's greys, or towards it.
///
/// - `images`: `[batch, channels, height, width]`
/// - `factors`: one an image, 1 for no change, 0 for an even grey
pub fn contrast<B: Backend>(images: Tensor<B, 4>, factors: &[f32]) -> Tensor<B, 4> {
    let [batch, channels, height, width] = images.dims();
    let device = images.device();
    let means = images.clone().reshape([batch, channels, height * width]).mean_dim(2);
    let means = match channels {
        3 => grey_shares(&device).matmul(means), // [batch, 1, 1]
        _ => means,
    };
    let rest = factors.iter().map(|factor| 1.0 - factor).collect();
    let middle = means.reshape([batch, 1, 1, 1]) * each_image(rest, &device);
    (images * each_image(factors.to_vec(), &device) + middle).clamp(0.0, 1.0)
}

/// Moves colours away from their greys, or towards them.
///
/// - `images`: `[batch, channels, height, width]`
/// - `factors`: one an image, 1 for no change, 0 for grey
pub fn saturation<B: Backend>(images: Tensor<B, 4>, factors: &[f32]) -> Tensor<B, 4> {
    let [batch, channels, height, width] = images.dims();
    if channels != 3 {
        return images;
    }
    // `factor * colour + (1 - factor) * grey` is a product with a matrix.
    let matrix = |&factor: &f32| {
        let entry = move |row: usize, column: usize| {
            let own = if row == column { factor } else { 0.0 };
            own + (1.0 - factor) * GREY[column]
        };
        (0..3).flat_map(move |row| (0..3).map(move |column| entry(row, column)))
    };
    let matrices: Vec<f32> = factors.iter().flat_map(matrix).collect();
    let matrices = TensorData::new(matrices, [batch, 3, 3]);
    let matrices = Tensor::<B, 3>::from_data(matrices, &images.device());
    let images = matrices.matmul(images.reshape([batch, 3, height * width]));
    images.clamp(0.0, 1.0).reshape([batch, 3, height, width])
}

/// Turns the colour wheel.
///
/// - `images`: `[batch, channels, height, width]`
/// - `shifts`: one an image, in turns
pub fn hue<B: Backend>(images: Tensor<B, 4>, shifts: &[f32]) -> Tensor<B, 4> {
    if images.dims()[1] != 3 {
        return images;
    }
    let shifts = each_image(shifts.to_vec(), &images.device());
    let hsv = rgb_to_hsv(images);
    let hue = hsv.clone().narrow(1, 0, 1) + shifts;
    let rest = hsv.narrow(1, 1, 2);
    hsv_to_rgb(Tensor::cat(vec![hue, rest], 1))
}

/// Red, green and blue to grey: `[batch, 3, height, width]` to `[batch, 1, height, width]`.
pub fn rgb_to_grey<B: Backend>(images: Tensor<B, 4>) -> Tensor<B, 4> {
    let [batch, _, height, width] = images.dims();
    let shares = grey_shares(&images.device());
    let grey = shares.matmul(images.reshape([batch, 3, height * width]));
    grey.reshape([batch, 1, height, width])
}

/// Grey to equal red, green and blue: `[batch, 1, height, width]` to `[batch, 3, height, width]`.
pub fn grey_to_rgb<B: Backend>(images: Tensor<B, 4>) -> Tensor<B, 4> {
    images.repeat_dim(1, 3)
}

/// Red, green and blue to hue (in turns), saturation and value: `[batch, 3, height, width]`.
pub fn rgb_to_hsv<B: Backend>(images: Tensor<B, 4>) -> Tensor<B, 4> {
    let channel = |channel| images.clone().narrow(1, channel, 1);
    let [red, green, blue] = [channel(0), channel(1), channel(2)];
    let value = images.clone().max_dim(1);
    let spread = value.clone() - images.clone().min_dim(1);
    // Where the denominator is 0, so is the numerator, and hue and saturation are 0.
    let least = f32::MIN_POSITIVE;
    let saturation = spread.clone() / value.clone().clamp_min(least);

    let spread = spread.clamp_min(least);
    let sixth = |from: &Tensor<B, 4>, to: &Tensor<B, 4>, turn: f32| {
        (from.clone() - to.clone()) / spread.clone() + turn
    };
    let is_red = red.clone().equal(value.clone());
    let is_green = green.clone().equal(value.clone());
    let hue = sixth(&red, &green, 4.0)
        .mask_where(is_green, sixth(&blue, &red, 2.0))
        .mask_where(is_red, sixth(&green, &blue, 0.0));
    let hue = hue / 6.0;
    let hue = hue.clone() - hue.floor();
    Tensor::cat(vec![hue, saturation, value], 1)
}

/// Hue (in turns, of any number), saturation and value to red, green and blue:
/// `[batch, 3, height, width]`.
pub fn hsv_to_rgb<B: Backend>(images: Tensor<B, 4>) -> Tensor<B, 4> {
    let channel = |channel| images.clone().narrow(1, channel, 1);
    let [hue, saturation, value] = [channel(0), channel(1), channel(2)];
    let chroma = value.clone() * saturation;
    // A colour falls from its full value over a sixth of the wheel, stays, and rises again.
    let colour = |ahead: f32| {
        let place = hue.clone() + ahead / 6.0;
        let place = (place.clone() - place.floor()) * 6.0;
        let fall = place.clone().min_pair(place.neg() + 4.0).clamp(0.0, 1.0);
        value.clone() - chroma.clone() * fall
    };
    Tensor::cat(vec![colour(5.0), colour(3.0), colour(1.0)], 1)
}

/// `[1, 1, 3]`
fn grey_shares<B: Backend>(device: &B::Device) -> Tensor<B, 3> {
    Tensor::from_data(TensorData::new(GREY.to_vec(), [1, 1, 3]), device)
}

/// Factors drawn as by torchvision's `ColorJitter`, in the order of its arguments, then
/// `RandomGrayscale`.
pub(super) fn augment<B: Backend>(
    mut images: Tensor<B, 4>,
    options: &AugmentOptions,
    draws: &[Draws],
) -> Tensor<B, 4> {
    let each = |value: &dyn Fn(&Draws) -> f64| -> Vec<f32> {
        draws.iter().map(|draws| value(draws) as f32).collect()
    };
    let factors = |number, most| each(&|draws: &Draws| draws.around_1(Step::Colour, number, most));
    if options.brightness > 0.0 {
        images = brightness(images, &factors(0, options.brightness));
    }
    if options.contrast > 0.0 {
        images = contrast(images, &factors(1, options.contrast));
    }
    if options.saturation > 0.0 {
        images = saturation(images, &factors(2, options.saturation));
    }
    if options.hue > 0.0 {
        images = hue(images, &each(&|draws| draws.around_0(Step::Colour, 3, options.hue)));
    }
    if options.grey > 0.0 {
        let kept = |draws: &Draws| f64::from(!draws.chance(Step::Colour, 4, options.grey));
        images = saturation(images, &each(&kept));
    }
    images
}
