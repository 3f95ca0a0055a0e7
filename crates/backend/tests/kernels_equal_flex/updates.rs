//! Updates, and the sums of squares before them.

use backend::{AdamStep, Backend, Parameter, RmsPropStep, Selected, SgdStep, UpdateRule};
use burn::{
    backend::Flex,
    tensor::{Tensor, ops::FloatTensor},
};

use crate::{assert_close, by_kernels, device, normal, numbers, primitive};

/// Parameters in more shapes than a kernel takes at a time, and the values that each is made of. Some
/// gradients do not lie in memory as their weights do: products and convolutions return such.
fn parameters<B: Backend>(slots: usize) -> Vec<Parameter<B>> {
    let vectors = (1..60).map(|width| [width, 1, 1, 1]);
    let shapes = vectors.chain([[6, 5, 3, 3], [8, 1, 3, 3], [4, 7, 1, 1], [300, 70, 1, 1]]);
    let parameter = |(number, shape): (usize, [usize; 4])| {
        let stream = 10 * number as u64;
        let slot = |slot| primitive(normal::<B, 4>(shape, stream + slot as u64).abs());
        let [outputs, inputs, height, width] = shape;
        let gradient = match number % 3 {
            0 => normal::<B, 4>(shape, stream + 8),
            1 => normal([outputs, height, width, inputs], stream + 8).permute([0, 3, 1, 2]),
            _ => normal([inputs, outputs, height, width], stream + 8).swap_dims(0, 1),
        };
        let weight = primitive(normal::<B, 4>(shape, stream + 9));
        let weight = if number % 2 == 0 { B::laid_out(weight) } else { weight };
        let slots = (0..slots).map(slot).collect();
        Parameter { weight, gradient: primitive(gradient), slots }
    };
    shapes.enumerate().map(parameter).collect()
}

/// Checks updates by kernels against Flex's, and that of every other weight, which is held elsewhere
/// too, that copy; and that training which has diverged changes nothing.
fn check_update(rule: UpdateRule) {
    let ours = || parameters::<Selected>(rule.slots());
    let reference = || parameters::<Flex>(rule.slots());
    let diverged = primitive(Tensor::<Selected, 1>::ones([1], &device()));
    let stayed = by_kernels(|| Selected::fused_update(ours(), diverged, &rule));
    for ((weight, slots), before) in stayed.into_iter().zip(reference()) {
        assert_close("weight after divergence", weight, before.weight, 0.0);
        for (slot, before) in slots.into_iter().zip(before.slots) {
            assert_close("slot after divergence", slot, before, 0.0);
        }
    }

    let ours = ours();
    let held: Vec<_> = ours.iter().step_by(2).map(|parameter| parameter.weight.clone()).collect();
    let finite = primitive(Tensor::<Selected, 1>::zeros([1], &device()));
    let found = by_kernels(|| Selected::fused_update(ours, finite, &rule));
    let finite = primitive(Tensor::<Flex, 1>::zeros([1], &Default::default()));
    let expected = Flex::fused_update(reference(), finite, &rule);
    assert_eq!(found.len(), expected.len());
    for ((weight, slots), (expected, expected_slots)) in found.into_iter().zip(expected) {
        assert_close("weight", weight, expected, 1e-5);
        assert_eq!(slots.len(), expected_slots.len());
        for (slot, expected) in slots.into_iter().zip(expected_slots) {
            assert_close("slot", slot, expected, 1e-5);
        }
    }
    for (held, before) in held.into_iter().zip(reference().into_iter().step_by(2)) {
        assert_close("held weight", held, before.weight, 0.0);
    }
}

#[test]
fn adam_updates() {
    let step = AdamStep {
        learning_rate: 0.01,
        beta_1: 0.9,
        beta_2: 0.999,
        epsilon: 1e-8,
        weight_decay: 0.1,
        decoupled: true,
        look_ahead: None,
        time: 3,
    };
    check_update(UpdateRule::Adam(step));
    check_update(UpdateRule::Adam(AdamStep { decoupled: false, ..step }));
    let look_ahead = Some([0.7, 0.4]);
    check_update(UpdateRule::Adam(AdamStep { decoupled: false, look_ahead, ..step }));
}

#[test]
fn sgd_updates() {
    let step = SgdStep { learning_rate: 0.1, momentum: 0.9, weight_decay: 0.01, nesterov: true };
    check_update(UpdateRule::Sgd(step));
    check_update(UpdateRule::Sgd(SgdStep { nesterov: false, ..step }));
    check_update(UpdateRule::Sgd(SgdStep { nesterov: false, momentum: 0.0, ..step }));
}

#[test]
fn rms_prop_updates() {
    let step = RmsPropStep {
        learning_rate: 0.1,
        alpha: 0.9,
        epsilon: 1e-5,
        momentum: 0.9,
        weight_decay: 0.01,
    };
    check_update(UpdateRule::RmsProp(step));
    check_update(UpdateRule::RmsProp(RmsPropStep { momentum: 0.0, ..step }));
}

#[test]
fn square_sums_of_all_sizes() {
    let sizes = [1, 255, 256, 257, 16_384, 16_385, 700_001].into_iter().chain(1..40);
    let values: Vec<_> = sizes.map(|count| normal::<Selected, 1>([count], 1)).collect();
    let tensors = values.iter().cloned().map(primitive).collect();
    let sums = numbers::<Selected>(by_kernels(|| Selected::fused_square_sums(tensors)));
    assert_eq!(sums.len(), values.len());
    for (sum, values) in sums.into_iter().zip(values) {
        let values = values.into_data();
        let expected: f64 = values.iter::<f64>().map(|value| value.powi(2)).sum();
        let difference = (f64::from(sum) - expected).abs();
        assert!(difference < 1e-5 * expected, "{sum} for {expected}");
    }
}

#[test]
fn moving_averages_of_many() {
    fn pairs<B: Backend>() -> Vec<[FloatTensor<B>; 2]> {
        let pair = |Parameter { weight, gradient, .. }: Parameter<B>| [weight, gradient];
        parameters::<B>(0).into_iter().map(pair).collect()
    }
    let found = by_kernels(|| Selected::fused_moving_averages(pairs::<Selected>(), 0.1, 1.1));
    let expected = Flex::fused_moving_averages(pairs::<Flex>(), 0.1, 1.1);
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.into_iter().zip(expected) {
        assert_close("average", found, expected, 1e-6);
    }
}

#[test]
fn many_are_rescaled() {
    fn tensors<B: Backend>() -> Vec<FloatTensor<B>> {
        let vectors = (1..70).map(|width| primitive(normal::<B, 1>([width], width as u64)));
        let matrix = primitive(normal::<B, 2>([300, 70], 1).transpose());
        vectors.chain([matrix]).collect()
    }
    fn factor<B: Backend>() -> FloatTensor<B> {
        primitive(normal::<B, 1>([1], 9))
    }
    let held = tensors::<Selected>();
    let found = by_kernels(|| Selected::fused_rescale(held.clone(), factor::<Selected>()));
    let expected = Flex::fused_rescale(tensors::<Flex>(), factor::<Flex>());
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.into_iter().zip(expected) {
        assert_close("rescaled", found, expected, 1e-7);
    }
    for (held, before) in held.into_iter().zip(tensors::<Flex>()) {
        assert_close("held elsewhere", held, before, 0.0);
    }
}

#[test]
fn divergence_of_sums_and_losses() {
    fn vector(values: &[f32]) -> FloatTensor<Selected> {
        primitive(Tensor::<Selected, 1>::from_floats(values, &device()))
    }
    for count in [1, 2, 255, 256, 257, 5000] {
        for (last, loss, before, expected) in [
            (0.25, -3.0, 0.0, 0.0),
            (0.25, -3.0, 1.0, 1.0),
            (f32::MAX, 0.0, 0.0, 0.0),
            (0.25, f32::NAN, 0.0, 1.0),
            (0.25, f32::INFINITY, 1.0, 1.0),
            (0.25, f32::NEG_INFINITY, 0.0, 1.0),
            (f32::NAN, 1.0, 0.0, 1.0),
            (f32::INFINITY, 1.0, 0.0, 1.0),
        ] {
            let mut sums = vec![0.25; count];
            sums[count - 1] = last;
            let what = format!("{count} sums, of which the last is {last}, loss {loss}");
            let norm = ((count - 1) as f64 * 0.25 + f64::from(last)).sqrt();
            for largest in [None, Some(1e30), Some(0.3), Some(1e-3)] {
                let [sums, of_loss, before] = [vector(&sums), vector(&[loss]), vector(&[before])];
                let judged = || Selected::fused_divergence(sums, of_loss, before, largest);
                let [factor, diverged] = by_kernels(judged).map(numbers::<Selected>);
                assert_eq!(diverged, [expected], "{what}");
                let clipped = largest.map_or(1.0, |largest| (largest / (norm + 1e-6)).min(1.0));
                let close = (f64::from(factor[0]) - clipped).abs() <= 1e-6 * clipped;
                assert!(close || !last.is_finite(), "{factor:?} instead of {clipped}, {what}");
            }
        }
    }
}
