//! Dropout by counter.

use backend::{Backend, DropoutMask, functional};
use burn::{module::Module, tensor::Tensor};

use crate::{ArchitectureError, Pass};

/// Inverted dropout: in training each element is zeroed with `probability`, else scaled up to preserve
/// the mean; in evaluation nothing happens.
///
/// Which elements are zeroed depends only on the seed, the step, the layer's number in the pass, the
/// sample and the element.
#[derive(Module, Clone, Debug)]
pub struct Dropout {
    /// In `0..=1`; it is rounded to a multiple of 2^-16.
    pub probability: f64,
}

impl Dropout {
    /// Dropout with `probability`.
    ///
    /// # Panics
    ///
    /// If it is not in `0..=1`.
    pub fn new(probability: f64) -> Self {
        match ArchitectureError::unless_probability(probability) {
            Ok(()) => Self { probability },
            Err(error) => panic!("{error}"),
        }
    }

    /// - `input`: `[batch, ..]`
    /// - returns: the same shape
    pub fn forward<B: Backend, const D: usize>(
        &self,
        input: Tensor<B, D>,
        pass: &mut Pass<B>,
    ) -> Tensor<B, D> {
        let Some((random, first_sample)) = pass.next_dropout() else { return input };
        let mask = DropoutMask::new(self.probability, random, first_sample);
        if mask.is_empty() { input } else { functional::dropout(input, &mask) }
    }
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};

    use super::*;

    fn masked(mut pass: Pass<Selected>, shape: [usize; 2], probability: f64) -> Vec<f32> {
        let ones = Tensor::<_, 2>::ones(shape, &Device::default());
        Dropout::new(probability).forward(ones, &mut pass).into_data().to_vec().unwrap()
    }

    #[test]
    fn the_mean_stays_and_the_share_is_right() {
        let values = masked(Pass::training(0, 0, 0), [100, 1003], 0.25);
        let dropped = values.iter().filter(|&&value| value == 0.0).count() as f64 / 100_300.0;
        assert!((dropped - 0.25).abs() < 0.007, "{dropped}"); // five deviations
        assert!(values.iter().all(|&value| value == 0.0 || value == 4.0 / 3.0));
        let mean = values.iter().map(|&value| f64::from(value)).sum::<f64>() / 100_300.0;
        assert!((mean - 1.0).abs() < 0.01, "{mean}"); // five deviations
    }

    #[test]
    #[should_panic(expected = "the probability of dropout is 50, and must be from 0 to 1")]
    fn a_percentage_is_no_probability() {
        Dropout::new(50.0);
    }

    #[test]
    #[should_panic(expected = "the probability of dropout is NaN")]
    fn a_probability_is_a_number() {
        Dropout::new(f64::NAN);
    }

    #[test]
    fn an_update_in_parts_draws_what_the_whole_one_does() {
        let whole = masked(Pass::training(5, 7, 0), [6, 13], 0.5);
        let parts = [(0, 4), (4, 2)]
            .map(|(first, samples)| masked(Pass::training(5, 7, first), [samples, 13], 0.5));
        assert_eq!(parts.concat(), whole);
        assert_ne!(masked(Pass::training(5, 8, 0), [6, 13], 0.5), whole, "another step");
        assert_ne!(masked(Pass::training(6, 7, 0), [6, 13], 0.5), whole, "another seed");
    }

    #[test]
    fn layers_of_one_pass_differ_and_evaluation_drops_nothing() {
        let mut pass = Pass::<Selected>::training(0, 0, 0);
        let ones = Tensor::<_, 2>::ones([4, 32], &Device::default());
        let layer = Dropout::new(0.5);
        let [first, second] = [(); 2].map(|()| layer.forward(ones.clone(), &mut pass).into_data());
        assert_ne!(first, second);
        assert_eq!(masked(Pass::evaluation(), [4, 32], 0.5), [1.0; 128]);
        assert_eq!(masked(Pass::training(0, 0, 0), [1, 3], 1.0), [0.0; 3]);
    }
}
