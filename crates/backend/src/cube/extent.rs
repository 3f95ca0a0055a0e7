//! Which value of maps a unit is for, whose channels lie last.

use burn_cubecl::cubecl::{self, prelude::*, std::FastDivmod};

/// Rows, columns and channels of maps.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(super) struct Extent {
    rows: FastDivmod<usize>,
    columns: FastDivmod<usize>,
    channels: FastDivmod<usize>,
}

#[derive(CubeType, Clone, Copy)]
pub(super) struct Position {
    pub(super) image: usize,
    pub(super) row: usize,
    pub(super) column: usize,
    pub(super) channel: usize,
}

#[cube]
impl Extent {
    /// Where the value `i` is.
    pub(super) fn position(&self, i: usize) -> Position {
        let (place, channel) = self.channels.div_mod(i);
        let (line, column) = self.columns.div_mod(place);
        let (image, row) = self.rows.div_mod(line);
        Position { image, row, column, channel }
    }
}
