//! Nearly equal parts of a number of items.

use std::ops::Range;

/// One of `parts` nearly equal parts of `count` items.
#[inline]
pub(super) fn part(count: usize, parts: usize, index: usize) -> Range<usize> {
    index * count / parts..(index + 1) * count / parts
}

/// Cuts items into nearly equal parts of at most `most`.
#[inline]
pub(super) fn cut(items: Range<usize>, most: usize) -> impl Iterator<Item = Range<usize>> {
    let (first, count) = (items.start, items.len());
    let parts = count.div_ceil(most);
    (0..parts).map(move |index| {
        let part = part(count, parts, index);
        first + part.start..first + part.end
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_and_differ_by_one_at_most() {
        for (count, most) in [(0, 4), (1, 4), (7, 7), (8, 7), (25, 6), (100, 10)] {
            let parts: Vec<_> = cut(3..3 + count, most).collect();
            assert!(parts.iter().cloned().flatten().eq(3..3 + count));
            let sizes = || parts.iter().map(ExactSizeIterator::len);
            if let (Some(least), Some(largest)) = (sizes().min(), sizes().max()) {
                assert!(largest <= most && largest - least <= 1, "{parts:?}");
            }
        }
    }
}
