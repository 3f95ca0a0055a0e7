//! Whether the numbers of a column are formatted alike, and what the column is with plain ones.

use std::borrow::Cow;

use preprocess::{
    cell::Cell,
    number_format::{Number, is_formatted},
};

use super::{Place, Summary};
use crate::NumberFormat;

/// What was seen of the format of a column's numbers.
#[derive(Debug, Default, Clone)]
pub(super) struct FormatSeen {
    common_format: Option<CommonFormat>,
    /// The first number without a sign, unless it is 0.
    bare: Option<Place>,
    /// Texts that are formatted numbers of any kind, and the first that does not go with those above.
    formatted: u64,
    odd: Option<Place>,
    /// The column with plain numbers in place of formatted ones, from the first of these until `odd`.
    plain: Option<Box<Summary>>,
}

/// The format that the numbers of a column have in common.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::csv_table) struct CommonFormat {
    pub(in crate::csv_table) format: NumberFormat,
    /// The first of them.
    pub(in crate::csv_table) first: Place,
    /// As it is read.
    pub(in crate::csv_table) plain: String,
}

impl FormatSeen {
    /// Whether cells that are no text count, which in columns of plain numbers they soon do not.
    pub(super) fn takes_plain(&self) -> bool {
        self.plain.is_some() || self.bare.is_none()
    }

    /// Takes a formatted number, and says whether it goes with those above.
    fn add(&mut self, number: &Number, place: impl Fn() -> Place) -> bool {
        let new = || CommonFormat {
            format: NumberFormat::default(),
            first: place(),
            plain: number.plain(),
        };
        let sign = &mut self.common_format.get_or_insert_with(new).format.sign;
        *sign = sign.or(number.sign);
        number.sign.is_none() || number.sign == *sign
    }
}

impl Summary {
    /// Takes the next cell for the column with plain numbers, before it is counted as it is written.
    pub(super) fn see_format(&mut self, cell: Cell, line: u64, text: &str) {
        let place = || Place::new(line, text);
        let number = if cell == Cell::Text { self.notation.number(text) } else { None };
        let seen = &mut self.format_seen;
        if number.as_ref().is_some_and(|number| number.sign.is_none())
            || matches!(cell, Cell::Number(number) if number != 0.0)
        {
            seen.bare.get_or_insert_with(place);
        }
        let goes = match &number {
            Some(number) => seen.add(number, place),
            None => cell != Cell::Text || !is_formatted(text),
        };
        seen.formatted += u64::from(number.is_some() || !goes);
        if !goes {
            seen.odd.get_or_insert_with(place);
            seen.plain = None;
        } else if number.is_some() && seen.plain.is_none() && seen.odd.is_none() {
            let plain = Self { format_seen: FormatSeen::default(), ..self.clone() };
            self.format_seen.plain = Some(Box::new(plain));
        }
        if let Some(plain) = &mut self.format_seen.plain {
            plain.add(line, &number.map_or(Cow::Borrowed(text), |number| number.plain().into()));
        }
    }

    /// The format of its numbers, if they share one. Where some have a percent sign and others none,
    /// these may well be shares of 1; but without a currency sign they are of the same currency.
    pub(in crate::csv_table) fn common_format(&self) -> Option<&CommonFormat> {
        let FormatSeen { common_format, bare, odd, .. } = &self.format_seen;
        let are_alike = |common: &&CommonFormat| {
            odd.is_none() && (common.format.sign != Some('%') || bare.is_none())
        };
        common_format.as_ref().filter(are_alike)
    }

    /// The first formatted number that does not go with those above.
    pub(in crate::csv_table) fn odd(&self) -> Option<&Place> {
        self.format_seen.odd.as_ref()
    }

    /// The column with plain numbers, if it is one of numbers then, else as it is written.
    pub(in crate::csv_table) fn as_read(&self) -> &Self {
        let plain = self.format_seen.plain.as_deref().filter(|plain| plain.is_numeric());
        plain.filter(|_| self.common_format().is_some()).unwrap_or(self)
    }

    /// A formatted number that is not read, if at least 90 % of the cells are such numbers or plain ones.
    pub(in crate::csv_table) fn unread_number(&self) -> Option<&Place> {
        let FormatSeen { common_format, formatted, odd, .. } = &self.format_seen;
        let nearly_all = 10 * (formatted + self.numbers) >= 9 * self.present();
        let place = odd.as_ref().or(common_format.as_ref().map(|common| &common.first));
        place.filter(|_| nearly_all && !self.is_numeric())
    }

    /// How its [unread](Self::unread_number) numbers are written: the first one, and the first cell that
    /// does not go with it.
    pub(super) fn shown_format(&self) -> Option<String> {
        let unread = self.unread_number()?;
        let FormatSeen { common_format: Some(common), bare, odd, plain, .. } = &self.format_seen
        else {
            return Some(unread.shown());
        };
        let other = match self.common_format() {
            _ if odd.is_some() => odd.as_ref(),
            None => bare.as_ref(),
            Some(_) => plain.as_ref().and_then(|plain| plain.first_text.as_ref()),
        };
        let other = other.map(|other| format!(" and {}", other.shown())).unwrap_or_default();
        Some(common.first.shown() + &other)
    }
}
