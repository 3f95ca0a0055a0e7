//! Brightness, contrast, saturation, hue and grey, as torchvision defines them.
//!
//! Colours are between 0 and 1 before and after. Images with other than three channels have no saturation
//! or hue, and the functions for these leave them as they are; their greys are the mean of their channels.

use backend::{Backend, functional::product};
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
    let means: Tensor<B, 2> = means.squeeze_dim(2);
    let means = match channels {
        3 => product(means, grey_shares(&device)), // [batch, 1]
        _ => means.mean_dim(1),
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
    let images = product(matrices, images.reshape([batch, 3, height * width]));
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
    let [hue, saturation, value] = hsv(images);
    let hue = hue.clone() + each_image(shifts.to_vec(), &hue.device());
    rgb([hue.clone() - hue.floor(), saturation, value])
}

/// From red, green and blue to hue (in turns, from 0 up to 1), saturation and value:
/// `[batch, 1, height, width]` each.
fn hsv<B: Backend>(images: Tensor<B, 4>) -> [Tensor<B, 4>; 3] {
    let [red, green, blue] = channels(images);
    let value = red.clone().max_pair(green.clone()).max_pair(blue.clone());
    let least = red.clone().min_pair(green.clone()).min_pair(blue.clone());
    let spread = value.clone() - least;
    // Where a denominator is 0, so is its numerator: black and grey have the hue and, black, the
    // saturation 0.
    let saturation = spread.clone() / value.clone().clamp_min(f32::MIN_POSITIVE);
    let spread = spread.clamp_min(f32::MIN_POSITIVE);

    let is_red = red.clone().equal(value.clone());
    let is_green = green.clone().equal(value.clone());
    let sixths = |from: &Tensor<B, 4>, to: &Tensor<B, 4>, middle: f32| {
        (from.clone() - to.clone()) / spread.clone() + middle
    };
    let sixths = sixths(&red, &green, 4.0)
        .mask_where(is_green, sixths(&blue, &red, 2.0))
        .mask_where(is_red, sixths(&green, &blue, 0.0));
    let before_red = sixths.clone().lower_elem(0.0);
    let sixths = sixths.clone().mask_where(before_red, sixths + 6.0);
    [sixths / 6.0, saturation, value]
}

/// From hue, saturation and value, `[batch, 1, height, width]` each, to red, green and blue.
fn rgb<B: Backend>([hue, saturation, value]: [Tensor<B, 4>; 3]) -> Tensor<B, 4> {
    let chroma = value.clone() * saturation;
    let sixths = hue * 6.0;
    // How much of the chroma a colour lacks: nothing within a sixth of the wheel of its own place,
    // all from two sixths on.
    let colour = |lack: Tensor<B, 4>| value.clone() - chroma.clone() * lack.clamp(0.0, 1.0);
    let away = |from: f32| (sixths.clone() - from).abs();
    let lacks = [away(3.0).neg() + 2.0, away(2.0) - 1.0, away(4.0) - 1.0];
    Tensor::cat(lacks.map(colour).into(), 1)
}

/// Each channel by itself, `[batch, 1, height, width]`: a copy, since CPU backends go slowly
/// through a view.
fn channels<B: Backend>(images: Tensor<B, 4>) -> [Tensor<B, 4>; 3] {
    let device = images.device();
    [0, 1, 2].map(|channel| images.clone().select(1, Tensor::from_ints([channel], &device)))
}

/// `[3, 1]`
fn grey_shares<B: Backend>(device: &B::Device) -> Tensor<B, 2> {
    Tensor::from_data(TensorData::new(GREY.to_vec(), [3, 1]), device)
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

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};

    use super::*;
    use crate::augment::draws::{check_moments, many};

    #[test]
    fn the_colour_wheel_turns_by_at_most_the_share_that_is_asked_for() {
        let draws = many();
        let options = AugmentOptions { hue: 0.1, ..Default::default() };
        let cyan = [[[[0.0]], [[1.0]], [[1.0]]]];
        let images = Tensor::<Selected, 4>::from_floats(cyan, &Device::default());
        let [hue, ..] = hsv(augment(images.repeat_dim(0, draws.len()), &options, &draws));
        let turns: Vec<f64> = hue.into_data().iter().map(|hue: f64| hue - 0.5).collect();
        check_moments(&turns, [-0.10001, 0.10001], 0.0, 0.04 / 12.0);
    }

    /// Of two grey pixels, brightness tells by their sum and contrast by their difference.
    #[test]
    fn factors_are_drawn_within_their_ranges_and_each_by_itself() {
        let draws = many();
        let options = AugmentOptions { brightness: 0.5, contrast: 0.3, ..Default::default() };
        let images = Tensor::<Selected, 4>::from_floats([[[[0.2, 0.4]]]], &Device::default());
        let images = augment(images.repeat_dim(0, draws.len()), &options, &draws);
        let pixels: Vec<f64> = images.into_data().iter().collect();
        let factors = pixels.as_chunks().0.iter().map(|[dark, light]| {
            let brightness = (dark + light) / 0.6;
            [brightness - 1.0, (light - dark) / 0.2 / brightness - 1.0]
        });
        let (brightness, contrast): (Vec<f64>, Vec<f64>) = factors.map(|[b, c]| (b, c)).unzip();
        check_moments(&brightness, [-0.50001, 0.50001], 0.0, 1.0 / 12.0);
        check_moments(&contrast, [-0.30001, 0.30001], 0.0, 0.36 / 12.0);
        let products = brightness.iter().zip(&contrast).map(|(b, c)| b * c / 0.15);
        check_moments(&products.collect::<Vec<_>>(), [-1.0001, 1.0001], 0.0, 1.0 / 9.0);
    }
}
