//! How a tensor's elements lie in memory, from its shape and strides.

use std::cmp::Reverse;

/// The dimensions by decreasing stride; of two with the same stride the larger one first, so that
/// permuting by this order and back keeps every stride.
pub(crate) fn slowest_first(shape: &[usize], strides: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    order.sort_by_key(|&dimension| Reverse((strides[dimension], shape[dimension])));
    order
}

/// Whether elements lie one after another; the strides of dimensions of size 1 do not matter.
pub(crate) fn lies_flat(shape: &[usize], strides: &[usize]) -> bool {
    let mut expected = 1;
    shape.iter().zip(strides).rev().filter(|(size, _)| **size > 1).all(|(size, stride)| {
        let as_expected = *stride == expected;
        expected *= size;
        as_expected
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dimension_of_size_one_stays_where_it_is() {
        assert_eq!(slowest_first(&[8, 5, 3, 3], &[45, 1, 15, 5]), [0, 2, 3, 1], "channels last");
        assert_eq!(slowest_first(&[8, 1, 3, 3], &[9, 1, 3, 1]), [0, 2, 3, 1], "one input");
        assert_eq!(slowest_first(&[8, 1, 3, 3], &[9, 9, 3, 1]), [0, 1, 2, 3], "as it is listed");
        assert_eq!(slowest_first(&[8, 5, 1, 1], &[5, 1, 5, 5]), [0, 2, 3, 1], "points");
    }

    #[test]
    fn dimensions_of_size_one_do_not_matter() {
        assert!(lies_flat(&[2, 3, 4], &[12, 4, 1]));
        assert!(lies_flat(&[2, 1, 4], &[4, 1, 1]));
        assert!(lies_flat(&[1, 1], &[7, 7]));
        assert!(!lies_flat(&[2, 3], &[1, 2]), "another order");
        assert!(!lies_flat(&[2, 3], &[4, 1]), "a gap after each row");
        assert!(!lies_flat(&[2, 3], &[0, 1]), "rows in one place");
    }
}
