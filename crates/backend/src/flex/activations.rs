//! Exponential, logistic function and hyperbolic tangent of vectors, to 3e-7 of the value.

use super::simd::Vector;

/// `e^x`; beyond what an f32 holds, nearly its largest or smallest number. NaN stays NaN.
#[inline(always)]
pub(super) fn exp<V: Vector>(x: V) -> V {
    let x = V::splat(88.37).min(V::splat(-87.33).max(x));
    // x = n ln 2 + r with |r| <= ln 2 / 2, where ln 2 is two numbers, the first with few digits
    // (Cody and Waite, 1980).
    let n = x.mul(V::splat(std::f32::consts::LOG2_E)).round();
    let r = n.neg_mul_add(V::splat(0.693_145_75), x);
    let r = n.neg_mul_add(V::splat(1.428_606_8e-6), r);
    // The series of e^r to r^6: the next term is below 1.2e-7.
    let mut sum = V::splat(1.0 / 720.0);
    sum = sum.mul_add(r, V::splat(1.0 / 120.0));
    sum = sum.mul_add(r, V::splat(1.0 / 24.0));
    sum = sum.mul_add(r, V::splat(1.0 / 6.0));
    sum = sum.mul_add(r, V::splat(0.5));
    sum = sum.mul_add(r, V::splat(1.0));
    sum = sum.mul_add(r, V::splat(1.0));
    sum.mul(n.power_of_two())
}

/// `1 / (1 + e^-x)`
#[inline(always)]
pub(super) fn sigmoid<V: Vector>(x: V) -> V {
    let one = V::splat(1.0);
    one.div(one.add(exp(V::zero().sub(x))))
}

/// `tanh x`
#[inline(always)]
pub(super) fn tanh<V: Vector>(x: V) -> V {
    let one = V::splat(1.0);
    let clamped = V::splat(10.0).min(V::splat(-10.0).max(x));
    let square_of_exp = exp(clamped.add(clamped));
    let far = square_of_exp.sub(one).div(square_of_exp.add(one));
    // Near zero the difference above cancels. There the series of tanh to x^11 is exact enough:
    // x - x^3/3 + 2 x^5/15 - 17 x^7/315 + 62 x^9/2835 - 1382 x^11/155925.
    let square = x.mul(x);
    let mut sum = V::splat(1382.0 / 155_925.0);
    sum = sum.mul_add(square, V::splat(-62.0 / 2835.0));
    sum = sum.mul_add(square, V::splat(17.0 / 315.0));
    sum = sum.mul_add(square, V::splat(-2.0 / 15.0));
    sum = sum.mul_add(square, V::splat(1.0 / 3.0));
    let near = sum.mul(square).neg_mul_add(x, x);
    let size = x.max(V::zero().sub(x));
    V::select(V::splat(0.35).greater(size), near, far)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::simd::{Kernel, Level};

    /// The three functions of each number.
    struct Functions<'a>(&'a [f32]);

    impl Kernel for Functions<'_> {
        type Output = [Vec<f32>; 3];

        #[inline(always)]
        fn run<V: Vector>(self) -> Self::Output {
            let mut results = [(); 3].map(|()| vec![0.0; self.0.len()]);
            let [exps, sigmoids, tanhs] = &mut results;
            for at in (0..self.0.len()).step_by(V::LANES) {
                let count = self.0.len() - at;
                // SAFETY: `count` numbers follow in each slice.
                unsafe {
                    let x = V::load_first(self.0.as_ptr().add(at), count);
                    exp(x).store_first(exps.as_mut_ptr().add(at), count);
                    sigmoid(x).store_first(sigmoids.as_mut_ptr().add(at), count);
                    tanh(x).store_first(tanhs.as_mut_ptr().add(at), count);
                }
            }
            results
        }
    }

    #[test]
    fn they_are_exact_to_3e7_of_the_value() {
        let numbers: Vec<f32> = (-86_000..=86_000).map(|step| step as f32 * 1e-3).collect();
        let functions: [fn(f64) -> f64; 3] = [f64::exp, |x| 1.0 / (1.0 + (-x).exp()), f64::tanh];
        let exact =
            functions.map(|exact| numbers.iter().map(|x| exact(f64::from(*x))).collect::<Vec<_>>());
        for level in Level::all() {
            let results = level.run(Functions(&numbers));
            for (index, (result, exact)) in results.iter().zip(&exact).enumerate() {
                for ((x, value), exact) in numbers.iter().zip(result).zip(exact) {
                    let error = (f64::from(*value) - exact).abs();
                    assert!(
                        error <= 3e-7 * exact.abs() + f64::from(f32::MIN_POSITIVE),
                        "function {index} of {x} at {level:?}: {value} instead of {exact}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_ends_are_finite_and_nan_stays() {
        for level in Level::all() {
            let numbers = [f32::NEG_INFINITY, -1e30, 1e30, f32::INFINITY, f32::NAN];
            let [exps, sigmoids, tanhs] = level.run(Functions(&numbers));
            assert!(exps[..2].iter().all(|value| (0.0..2e-38).contains(value)), "{exps:?}");
            assert!(exps[2..4].iter().all(|value| *value > 2e38), "{exps:?}");
            assert!(sigmoids[..2].iter().all(|value| *value < 1e-37), "{sigmoids:?}");
            assert_eq!(sigmoids[2..4], [1.0; 2]);
            assert_eq!(tanhs[..4], [-1.0, -1.0, 1.0, 1.0]);
            assert!([exps[4], sigmoids[4], tanhs[4]].iter().all(|value| value.is_nan()));
        }
    }
}
