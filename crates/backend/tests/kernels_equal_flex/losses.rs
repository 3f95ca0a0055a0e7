//! Embeddings and losses.

use backend::{Backend, Selected};
use burn::{backend::Flex, tensor::ops::FloatTensor};

use crate::{assert_close, by_kernels, indices, normal, primitive};

#[test]
fn embedding_backward() {
    for [batch, time, entries, width] in [
        [1, 1, 1, 1],
        [3, 5, 4, 7],
        [16, 20, 50, 12],
        [40, 30, 1000, 3],
        [50, 40, 2, 5],
        [400, 50, 70, 3],
    ] {
        let shape = [batch, time, width];
        let ours = by_kernels(|| {
            let indices = indices::<Selected, 2>([batch, time], entries).into_primitive();
            let gradient = primitive(normal::<Selected, 3>(shape, 1));
            Selected::fused_embedding_backward(entries, indices, gradient)
        });
        let indices = indices::<Flex, 2>([batch, time], entries).into_primitive();
        let gradient = primitive(normal::<Flex, 3>(shape, 1));
        let reference = Flex::fused_embedding_backward(entries, indices, gradient);
        assert_close(&format!("{batch} x {time} of {entries}"), ours, reference, 1e-4);
    }
}

#[test]
fn embedding_mean_forward_and_backward() {
    for [batch, time, entries, width] in
        [[1, 1, 1, 1], [3, 5, 4, 7], [16, 20, 50, 12], [40, 300, 1000, 65], [400, 50, 70, 3]]
    {
        let what = format!("{batch} x {time} of {entries}");
        let ours = indices::<Selected, 2>([batch, time], entries).into_primitive();
        let theirs = indices::<Flex, 2>([batch, time], entries).into_primitive();

        let table = primitive(normal::<Selected, 2>([entries, width], 1));
        let means = by_kernels(|| Selected::fused_embedding_mean(table, ours.clone()));
        let table = primitive(normal::<Flex, 2>([entries, width], 1));
        let reference = Flex::fused_embedding_mean(table, theirs.clone());
        assert_close(&what, means, reference, 1e-5);

        let gradient = primitive(normal::<Selected, 2>([batch, width], 2));
        let table = by_kernels(|| Selected::fused_embedding_mean_backward(entries, ours, gradient));
        let gradient = primitive(normal::<Flex, 2>([batch, width], 2));
        let reference = Flex::fused_embedding_mean_backward(entries, theirs, gradient);
        assert_close(&what, table, reference, 1e-4);
    }
}

#[test]
fn cross_entropy_forward_and_backward() {
    // Beyond 88.7, where the exponential function overflows.
    fn logits<B: Backend>(shape: [usize; 2]) -> FloatTensor<B> {
        primitive(normal::<B, 2>(shape, 1) * 50.0)
    }
    for [batch, classes] in [[1, 1], [3, 2], [70, 10], [300, 65], [9, 1000], [2, 3001]] {
        let shape = [batch, classes];
        let targets = || indices::<Selected, 1>([batch], classes).into_primitive();
        let (losses, softmax) =
            by_kernels(|| Selected::fused_cross_entropy(logits::<Selected>(shape), targets()));
        let gradient = primitive(normal::<Selected, 1>([batch], 2));
        let of_logits = by_kernels(|| {
            Selected::fused_cross_entropy_backward(softmax.clone(), targets(), gradient)
        });

        let targets = || indices::<Flex, 1>([batch], classes).into_primitive();
        let (expected, reference) = Flex::fused_cross_entropy(logits::<Flex>(shape), targets());
        assert_close(&format!("losses of {classes}"), losses, expected, 1e-5);
        assert_close(&format!("softmax of {classes}"), softmax, reference.clone(), 1e-5);
        let gradient = primitive(normal::<Flex, 1>([batch], 2));
        let expected = Flex::fused_cross_entropy_backward(reference, targets(), gradient);
        assert_close(&format!("gradient of {classes}"), of_logits, expected, 1e-5);
    }
}

#[test]
fn binary_cross_entropy_forward_and_backward() {
    fn operands<B: Backend>(batch: usize) -> [FloatTensor<B>; 3] {
        let logits = normal::<B, 1>([batch], 1) * 50.0;
        let targets = normal::<B, 1>([batch], 2).greater_elem(0.0).float();
        [logits, targets, normal([batch], 3)].map(primitive)
    }
    for batch in [1, 3, 256, 1000] {
        let [logits, targets, gradient] = operands::<Selected>(batch);
        let losses =
            by_kernels(|| Selected::fused_binary_cross_entropy(logits.clone(), targets.clone()));
        let of_logits =
            by_kernels(|| Selected::fused_binary_cross_entropy_backward(logits, targets, gradient));
        let [logits, targets, gradient] = operands::<Flex>(batch);
        let reference = Flex::fused_binary_cross_entropy(logits.clone(), targets.clone());
        assert_close(&format!("{batch} losses"), losses, reference, 1e-5);
        let reference = Flex::fused_binary_cross_entropy_backward(logits, targets, gradient);
        assert_close(&format!("{batch} gradients"), of_logits, reference, 1e-5);
    }
}

#[test]
fn correct_predictions_are_counted() {
    fn logits<B: Backend>(shape: [usize; 2]) -> FloatTensor<B> {
        // Rounded, so that some are equal.
        primitive(normal::<B, 2>(shape, 1).mul_scalar(2.0).round())
    }
    for [batch, classes] in [[1, 1], [300, 1], [3, 2], [70, 10], [1000, 3], [9, 1000]] {
        let shape = [batch, classes];
        let count = by_kernels(|| {
            let targets = indices::<Selected, 1>([batch], classes.max(2)).into_primitive();
            let so_far = primitive(normal::<Selected, 1>([1], 3).round());
            Selected::fused_correct_count(logits::<Selected>(shape), targets, so_far)
        });
        let targets = indices::<Flex, 1>([batch], classes.max(2)).into_primitive();
        let so_far = primitive(normal::<Flex, 1>([1], 3).round());
        let expected = Flex::fused_correct_count(logits::<Flex>(shape), targets, so_far);
        assert_close(&format!("{batch} x {classes}"), count, expected, 0.0);
    }
}
