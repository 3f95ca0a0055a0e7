//! The loops of batch normalisation over the planes of a channel.

use crate::flex::{
    lanes::{first_or, read, write},
    simd::{Kernel, Vector},
};

/// Planes at equal distances, the same in all maps.
#[derive(Clone, Copy)]
pub(super) struct Walk {
    pub(super) start: usize,
    pub(super) planes: usize,
    pub(super) stride: usize,
    pub(super) length: usize,
}

/// The planes of some maps that one kernel works on.
pub(super) struct Planes<M> {
    walk: Walk,
    maps: M,
}

impl<M> Planes<M> {
    /// # Safety
    ///
    /// The walk lies inside of all maps, and no other task writes to its planes while a kernel runs
    /// on them, nor reads those that it writes to.
    pub(super) unsafe fn new(walk: Walk, maps: M) -> Self {
        Self { walk, maps }
    }
}

/// Independent sums, which hide the latency of an addition.
const CHAINS: usize = 4;
/// Values, at least, that are summed in f32 before they are added to a sum in f64; a multiple of the
/// values of all chains.
const RUN: usize = 4096;
/// Values that are read twice before the next ones: 64 KiB, an eighth of a small second-level cache.
const CACHED: usize = 1 << 14;

/// What is done with the values at an offset into the maps.
trait Step<V: Vector> {
    /// # Safety
    ///
    /// From `at` on, `count` values lie inside of the maps; `count` is at most `V::LANES`.
    unsafe fn step(&mut self, chain: usize, at: usize, count: usize);

    /// Some values have been seen, fewer than twice [`RUN`] since the last call.
    fn pause(&mut self) {}
}

impl Walk {
    /// # Safety
    ///
    /// The planes lie inside of the maps that `step` reads and writes.
    #[inline(always)]
    unsafe fn each<V: Vector, S: Step<V>>(&self, step: &mut S) {
        let whole = self.length / V::LANES * V::LANES;
        let unrolled = self.length / (CHAINS * V::LANES) * (CHAINS * V::LANES);
        let mut since_pause = 0;
        for plane in 0..self.planes {
            let start = self.start + plane * self.stride;
            // SAFETY: all offsets lie inside of the plane.
            unsafe {
                for run in (0..unrolled).step_by(RUN) {
                    let end = unrolled.min(run + RUN);
                    for group in (run..end).step_by(CHAINS * V::LANES) {
                        for chain in 0..CHAINS {
                            step.step(chain, start + group + chain * V::LANES, V::LANES);
                        }
                    }
                    since_pause += end - run;
                    if since_pause >= RUN {
                        since_pause = 0;
                        step.pause();
                    }
                }
                for at in (unrolled..whole).step_by(V::LANES) {
                    step.step(0, start + at, V::LANES);
                }
                if whole < self.length {
                    step.step(1, start + whole, self.length - whole);
                }
            }
            // Of small planes there is no more than this.
            since_pause += self.length - unrolled;
            if since_pause >= RUN {
                since_pause = 0;
                step.pause();
            }
        }
        step.pause();
    }
}

/// Sums in f32 vectors, which are emptied into f64.
#[derive(Clone, Copy)]
struct Sum<V: Vector> {
    chains: [V; CHAINS],
    total: f64,
}

impl<V: Vector> Sum<V> {
    #[inline(always)]
    fn new() -> Self {
        Self { chains: [V::zero(); CHAINS], total: 0.0 }
    }

    #[inline(always)]
    fn empty(&mut self) {
        let [a, b, c, d] = self.chains;
        self.total += f64::from(a.add(b).add(c.add(d)).sum());
        self.chains = [V::zero(); CHAINS];
    }
}

/// The maps of the forward pass, all of one shape; the output may be the input's own memory.
#[derive(Clone, Copy)]
pub(super) struct Forward {
    pub(super) input: *const f32,
    pub(super) residual: Option<*const f32>,
    pub(super) output: *mut f32,
    pub(super) rectified: bool,
}

// SAFETY: tasks that share the maps write to planes of their own.
unsafe impl Send for Forward {}
// SAFETY: as above.
unsafe impl Sync for Forward {}

/// `factor * (x - mean) + shift`
#[derive(Clone, Copy)]
pub(super) struct Affine {
    mean: f32,
    inverse_deviation: f32,
    factor: f32,
    shift: f32,
}

impl Affine {
    pub(super) fn new([mean, variance]: [f32; 2], epsilon: f64, scale: f32, shift: f32) -> Self {
        let inverse_deviation = (1.0 / (f64::from(variance) + epsilon).sqrt()) as f32;
        Self { mean, inverse_deviation, factor: scale * inverse_deviation, shift }
    }

    #[inline(always)]
    fn apply<V: Vector>(&self, centered: V) -> V {
        centered.mul_add(V::splat(self.factor), V::splat(self.shift))
    }
}

/// The statistics of the values of a walk.
pub(super) struct Moments(pub(super) Planes<Forward>);

/// Number, mean and sum of squares around the mean.
#[derive(Clone, Copy, Default)]
pub(super) struct Statistics {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Statistics {
    pub(super) fn mean(&self) -> f32 {
        self.mean as f32
    }

    /// The biased variance.
    pub(super) fn variance(&self) -> f32 {
        (self.squares / self.count.max(1.0)) as f32
    }

    /// The statistics of two sets as one (Chan, Golub and LeVeque, 1979).
    pub(super) fn merged(self, other: Self) -> Self {
        let count = self.count + other.count;
        let share = other.count / count.max(1.0);
        let distance = other.mean - self.mean;
        Self {
            count,
            mean: self.mean + distance * share,
            squares: self.squares + other.squares + distance * distance * self.count * share,
        }
    }
}

impl Kernel for Moments {
    type Output = Statistics;

    #[inline(always)]
    fn run<V: Vector>(self) -> Statistics {
        let Planes { walk, maps } = self.0;
        // A few planes at a time, which are still in the cache when they are read again.
        let few = (CACHED / walk.length.max(1)).max(1);
        let mut whole = Statistics::default();
        for first in (0..walk.planes).step_by(few) {
            let part = Walk {
                start: walk.start + first * walk.stride,
                planes: few.min(walk.planes - first),
                ..walk
            };
            // SAFETY: promised to `Planes::new`.
            whole = whole.merged(unsafe { statistics::<V>(part, maps.input) });
        }
        whole
    }
}

/// The statistics of a walk through the input.
///
/// # Safety
///
/// The walk lies inside of the input.
#[inline(always)]
unsafe fn statistics<V: Vector>(walk: Walk, input: *const f32) -> Statistics {
    let count = (walk.planes * walk.length) as f64;
    let mut values = Deviations::<V, false>::new(input, 0.0);
    // SAFETY: the caller's promise.
    unsafe { walk.each(&mut values) };
    let near = (values.sum.total / count.max(1.0)) as f32;
    let mut around = Deviations::<V, true>::new(input, near);
    // SAFETY: as above.
    unsafe { walk.each(&mut around) };
    // The first mean is off by what its sums in f32 lost, which the deviations from it tell.
    let off = around.sum.total / count.max(1.0);
    let squares = around.squares.total - off * around.sum.total;
    // Of equal values rounding may leave less than nothing; a NaN stays.
    let squares = if squares < 0.0 { 0.0 } else { squares };
    Statistics { count, mean: f64::from(near) + off, squares }
}

/// Sums the deviations from a value, and where it is told to, their squares.
struct Deviations<V: Vector, const SQUARES: bool> {
    input: *const f32,
    from: f32,
    sum: Sum<V>,
    squares: Sum<V>,
}

impl<V: Vector, const SQUARES: bool> Deviations<V, SQUARES> {
    #[inline(always)]
    fn new(input: *const f32, from: f32) -> Self {
        Self { input, from, sum: Sum::new(), squares: Sum::new() }
    }
}

impl<V: Vector, const SQUARES: bool> Step<V> for Deviations<V, SQUARES> {
    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn step(&mut self, chain: usize, at: usize, count: usize) {
        // SAFETY: the caller's promise.
        let values = unsafe { read::<V>(self.input.add(at), count) };
        let deviation = first_or(values.sub(V::splat(self.from)), count, 0.0);
        let sum = &mut self.sum.chains[chain];
        *sum = sum.add(deviation);
        if SQUARES {
            let squares = &mut self.squares.chains[chain];
            *squares = deviation.mul_add(deviation, *squares);
        }
    }

    #[inline(always)]
    fn pause(&mut self) {
        self.sum.empty();
        if SQUARES {
            self.squares.empty();
        }
    }
}

/// Writes the normalised values.
pub(super) struct Normalize {
    pub(super) planes: Planes<Forward>,
    pub(super) affine: Affine,
}

impl Kernel for Normalize {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(mut self) {
        let walk = self.planes.walk;
        // SAFETY: promised to `Planes::new`.
        unsafe { walk.each::<V, _>(&mut self) };
    }
}

impl<V: Vector> Step<V> for Normalize {
    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn step(&mut self, _: usize, at: usize, count: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let Forward { input, residual, output, rectified } = self.planes.maps;
            let centered = read::<V>(input.add(at), count).sub(V::splat(self.affine.mean));
            let mut values = self.affine.apply(centered);
            if let Some(residual) = residual {
                values = values.add(read(residual.add(at), count));
            }
            if rectified {
                values = V::zero().max(values);
            }
            write(values, output.add(at), count);
        }
    }
}

/// The maps of the backward pass, all of one shape; the target may be the gradient's own memory.
#[derive(Clone, Copy)]
pub(super) struct Backward {
    pub(super) input: *const f32,
    pub(super) gradient: *const f32,
    /// The output of ReLU, where the input alone does not tell it.
    pub(super) output: Option<*const f32>,
    pub(super) rectified: bool,
    /// Where the gradient behind ReLU goes.
    pub(super) masked: Option<*mut f32>,
    /// Where the gradient of the input goes.
    pub(super) target: Option<*mut f32>,
}

// SAFETY: tasks that share the maps write to planes of their own.
unsafe impl Send for Backward {}
// SAFETY: as above.
unsafe impl Sync for Backward {}

impl Backward {
    /// The input less its mean, and the gradient behind ReLU.
    ///
    /// # Safety
    ///
    /// As for [`Step::step`].
    #[inline(always)]
    unsafe fn at<V: Vector>(&self, affine: &Affine, at: usize, count: usize) -> [V; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let centered = read::<V>(self.input.add(at), count).sub(V::splat(affine.mean));
            let gradient = read::<V>(self.gradient.add(at), count);
            if !self.rectified {
                return [centered, gradient];
            }
            let output = match self.output {
                Some(output) => read(output.add(at), count),
                None => affine.apply(centered),
            };
            // A NaN lets its gradient through, as PyTorch's does.
            [centered, V::select(V::zero().at_least(output), V::zero(), gradient)]
        }
    }
}

/// The gradients of scale and shift.
pub(super) struct Sums {
    pub(super) planes: Planes<Backward>,
    pub(super) affine: Affine,
}

struct SumsOf<V: Vector> {
    maps: Backward,
    affine: Affine,
    products: Sum<V>,
    gradients: Sum<V>,
}

impl Kernel for Sums {
    type Output = [f32; 2];

    #[inline(always)]
    fn run<V: Vector>(self) -> [f32; 2] {
        let Self { planes: Planes { walk, maps }, affine } = self;
        let mut sums = SumsOf { maps, affine, products: Sum::<V>::new(), gradients: Sum::new() };
        // SAFETY: promised to `Planes::new`.
        unsafe { walk.each(&mut sums) };
        let of_scale = sums.products.total * f64::from(affine.inverse_deviation);
        [of_scale as f32, sums.gradients.total as f32]
    }
}

impl<V: Vector> Step<V> for SumsOf<V> {
    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn step(&mut self, chain: usize, at: usize, count: usize) {
        // SAFETY: the caller's promise. Lanes beyond the count have a gradient of zero.
        let [centered, gradient] = unsafe { self.maps.at::<V>(&self.affine, at, count) };
        let products = &mut self.products.chains[chain];
        *products = centered.mul_add(gradient, *products);
        let gradients = &mut self.gradients.chains[chain];
        *gradients = gradients.add(gradient);
    }

    #[inline(always)]
    fn pause(&mut self) {
        self.products.empty();
        self.gradients.empty();
    }
}

/// Writes the gradients of input and residual.
pub(super) struct Propagate {
    pub(super) planes: Planes<Backward>,
    pub(super) affine: Affine,
    /// The gradients of scale and shift over the number of values.
    pub(super) of_means: [f32; 2],
}

impl Kernel for Propagate {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(mut self) {
        let walk = self.planes.walk;
        // SAFETY: promised to `Planes::new`.
        unsafe { walk.each::<V, _>(&mut self) };
    }
}

impl<V: Vector> Step<V> for Propagate {
    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn step(&mut self, _: usize, at: usize, count: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let maps = &self.planes.maps;
            let [centered, gradient] = maps.at::<V>(&self.affine, at, count);
            if let Some(masked) = maps.masked {
                write(gradient, masked.add(at), count);
            }
            if let Some(target) = maps.target {
                let [of_scale, of_shift] = self.of_means;
                let Affine { factor, inverse_deviation, .. } = self.affine;
                let slope = V::splat(-factor * inverse_deviation * of_scale);
                let through = centered.mul_add(slope, V::splat(-factor * of_shift));
                write(gradient.mul_add(V::splat(factor), through), target.add(at), count);
            }
        }
    }
}
